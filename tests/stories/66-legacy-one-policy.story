With policy Failed ours is made when the only consumer is gone
shows: legacy-one-policy

replicas 1; policy Failed; legacy 1
create a
    legacy:1>0
    +p0.0=a -legacy-map -legacy
    -marks
status current=a available=1
