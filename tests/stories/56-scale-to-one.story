Scaled to one while its Pod is lost: the Pod that takes over is made although the place is taken
shows: scale-one, scale-one-total, scale-keeps

replicas 2
create a
    +p0.0=a +p1.0=a
kubelet away
lose p0.0; replicas 1
    +p0.1=a
status available=1 total=2
kubelet back
    -p1.0
status available=1
