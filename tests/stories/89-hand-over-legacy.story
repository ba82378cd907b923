No second Pod is made while a legacy consumer has the place
shows: hand-over-place, legacy-one

replicas 1
create a
    +p0.0=a
legacy 1; lose p0.0; edit f
    +p0.1=f
status current=a
edit b
    -p0.1 +p0.2=b
    legacy:1>0
    -legacy-map -legacy
    -marks
status current=b available=1
