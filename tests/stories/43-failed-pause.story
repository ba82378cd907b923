A failed analysis with Pause: what works stays, what is lost comes back as current
shows: failed-pause, failed-lost, failed-analysis, failed-until

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
analysis failed
status failed=b phase=Failed available=4
lose c0.1
    +c0.2=a
wait 2000
status failed=b available=4
analysis none; edit c
    -c0.2 +c0.3=c
    -p0.0 +p0.1=c
    -p1.0 +p1.1=c
    -p2.0 +p2.1=c
status failed=none current=c
