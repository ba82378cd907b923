A new update revision has a gate of its own
shows: new-clears, gate-canary

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
edit b
    -c0.0 +c0.1=b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status gate=b
analysis pending
edit c
    -c0.1 +c0.2=c
status gate=none current=b phase=AwaitingAnalysis
