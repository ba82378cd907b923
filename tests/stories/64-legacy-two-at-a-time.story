As many consumers move at a time as may be away
shows: legacy-step, legacy-budget

replicas 4; maxUnavailable 2; legacy 4
create a
    legacy:4>2
    +p0.0=a +p1.0=a
    legacy:2>0
    +p2.0=a +p3.0=a -legacy-map -legacy
    -marks
status current=a available=4
