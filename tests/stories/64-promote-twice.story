A promotion given twice does nothing more, and left behind it opens nothing for the next revision
shows: order-bound, gate-promote

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
promote b
status current=b phase=Complete
edit c
    -c0.1 +c0.2=c
status gate=none phase=AwaitingAnalysis current=b
