An ordinal that waits for the replacement of a failed Pod keeps its place beside the Deployment
shows: legacy-sum

replicas 2; legacy 2
create d
    legacy:2>1
    +p0.0=d
    +p0.1=d -p0.0
wait 60
    +p0.2=d -p0.1
    +p0.3=d -p0.2
edit b
    +p0.4=b -p0.3
    legacy:1>0
    +p1.0=b -legacy-map -legacy
    -marks
status current=b available=2
