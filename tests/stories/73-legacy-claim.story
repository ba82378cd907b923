A Deployment is claimed first, and must be left alone for a while
shows: legacy-claim

replicas 2; legacy unclaimed 2
create a
status available=2 Ready=RollingOut
wait 80
wait 20
status current=a available=2
