With no consumer wanted the Deployment goes to zero at once
shows: legacy-drain

replicas 3; legacy 3; suspend
create a
status available=0 Ready=Suspended
