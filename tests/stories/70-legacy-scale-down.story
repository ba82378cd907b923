A scale down takes the Deployment first, down to what the floor needs
shows: legacy-scale, legacy-sum

replicas 4; legacy 4; pause
create a
replicas 2
    legacy:4>2
unpause
    legacy:2>1
    +p0.0=a
    legacy:1>0
    +p1.0=a -legacy-map -legacy
    -marks
status current=a available=2
