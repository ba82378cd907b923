Scaling in mid-rollout, up and down
shows: scale-both, scale-unavailable

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit f
    -p0.0 +p0.1=f
replicas 5
    +p3.0=a +p4.0=a
replicas 2
    -p4.0 -p3.0 -p2.0
status available=1 current=a
