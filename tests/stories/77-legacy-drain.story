With no consumer wanted the Deployment goes to zero at once
shows: legacy-drain

replicas 3; legacy 3; suspend
create a
    legacy:3>0
    -legacy-map -legacy
    -marks
status available=0 Ready=Suspended
