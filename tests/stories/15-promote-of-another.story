An order to promote another revision opens nothing
shows: gate-promote

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
promote c
status gate=none current=a
