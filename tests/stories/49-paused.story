Paused holds an update, heals and scales
shows: paused-holds, paused-heals

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
pause
edit b
lose p1.0
    +p1.1=a
replicas 4
    +p3.0=a
canary on
    -p3.0 +c0.0=a
status current=a available=4 Ready=RolloutPaused
unpause
    -c0.0 +c0.1=b
    -p0.0 +p0.1=b
    -p1.1 +p1.2=b
    -p2.0 +p2.1=b
status current=b
