While a revision is failed scaling and the canary's place take the current one
shows: failed-wanted, failed-stalled

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
analysis failed
status failed=b Stalled=RolloutFailed
replicas 4
    +p2.0=a
lose c0.1
    +c0.2=a
analysis none; edit c
    -c0.2 +c0.3=c
    -p0.0 +p0.1=c
    -p1.0 +p1.1=c
    -p2.0 +p2.1=c
status failed=none Stalled=AsExpected current=c
