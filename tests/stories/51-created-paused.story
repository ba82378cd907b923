A pipeline created paused does create its Pods
shows: paused-created

replicas 2
pause
create a
    +p0.0=a +p1.0=a
status current=a available=2
