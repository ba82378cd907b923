While paused no consumer is taken off
shows: legacy-paused

replicas 2; pause; legacy 2
create a
status available=2 phase=Paused
unpause
    legacy:2>1
    +p0.0=a
    legacy:1>0
    +p1.0=a -legacy-map -legacy
    -marks
status current=a available=2
