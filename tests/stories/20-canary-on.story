Switching the canary on moves one Pod and replaces no other
shows: canary-move, canary-split

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
canary on
    -p2.0 +c0.0=a
status available=3
canary off
    -c0.0 +p2.1=a
status available=3
