Consumers that serve nobody go without the budget, while ours can be tried
shows: legacy-free

replicas 3; legacy broken 3
create a
    legacy:3>2
    +p0.0=a
    legacy:2>1
    +p1.0=a
    legacy:1>0
    +p2.0=a -legacy-map -legacy
    -marks
status current=a available=3
