No second Pod is made while a surplus Pod has the place
shows: hand-over-place, scale-keeps

replicas 2
create a
    +p0.0=a +p1.0=a
lose p0.0; replicas 1; edit f
    +p0.1=f
status available=1 current=a
wait 400
status available=1
lose p1.0
    +p0.2=a
status available=1 current=a
