Scaled to one, the last legacy consumer stays until ours serves
shows: legacy-scale, legacy-one

replicas 3; legacy 3; pause
create a
replicas 1
    legacy:3>1
unpause
    +p0.0=a
    legacy:1>0
    -legacy-map -legacy
    -marks
status current=a available=1
