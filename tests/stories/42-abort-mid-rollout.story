Abort in mid-rollout sends the new Pods back within the budget, the available ones too
shows: failed-abort, failed-until

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
abort b
    -c0.1 +c0.2=a
status failed=b phase=RolledBack current=a available=3
wait 2000
status failed=b
