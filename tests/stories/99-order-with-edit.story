A promotion that comes in one write with its revision is read after the gate of the old one is forgotten
shows: new-orders, gate-promote

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending; edit b; promote b
    -c0.0 +c0.1=b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b
