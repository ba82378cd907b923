Ours that do not work take no more than maxUnavailable places
shows: legacy-free, legacy-budget

replicas 3; legacy 3
create f
    legacy:3>2
    +p0.0=f
status available=2 phase=Progressing
edit b
    -p0.0 +p0.1=b
    legacy:2>1
    +p1.0=b
    legacy:1>0
    +p2.0=b -legacy-map -legacy
    -marks
status current=b available=3
