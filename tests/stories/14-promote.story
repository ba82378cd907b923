A person opens the gate
shows: gate-promote, gate-kept

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
promote b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status gate=b current=b
