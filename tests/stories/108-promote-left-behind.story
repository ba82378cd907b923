An order to promote that was left behind opens the gate again when its revision is tried again
shows: new-orders, new-again, gate-promote

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
promote b; kubelet away
    -p0.0 +p0.1=b
status gate=b
kubelet back; edit a
    -p0.1 +p0.2=a
    -c0.1 +c0.2=a
status gate=none current=a available=3
edit b
    -c0.2 +c0.3=b
    -p0.2 +p0.3=b
    -p1.0 +p1.1=b
status gate=b current=b
