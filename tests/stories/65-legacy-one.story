The only consumer goes when ours, made beside it, is available
shows: legacy-one

replicas 1; legacy 1
create a
    +p0.0=a
    legacy:1>0
    -legacy-map -legacy
    -marks
status current=a available=1
