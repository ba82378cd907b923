A Deployment is claimed first, and must be left alone for a while
shows: legacy-claim

replicas 2; legacy unclaimed 2
create a
    claim:legacy=2
status available=2 Ready=RollingOut
wait 80
wait 20
    legacy:2>1
    +p0.0=a
    legacy:1>0
    +p1.0=a -legacy-map -legacy
    -marks
status current=a available=2
