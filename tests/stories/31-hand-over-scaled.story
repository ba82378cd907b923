Scaling up in a hand-over ends it
shows: hand-over-scale, scale-both

replicas 1
create a
    +p0.0=a
edit f
    +p0.1=f
replicas 3
    -p0.1 +p1.0=f +p2.0=a
