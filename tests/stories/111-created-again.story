Of two Pods of the new revision that failed one is made again as it was, and the one beyond maxUnavailable as current
shows: created-again, created-stable, created-broken

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
promote b; kubelet away
    -p0.0 +p0.1=b
fail p2.0
    +p2.1=a -p2.0
fail c0.1; fail p0.1
    +c0.2=a -c0.1 +p0.2=b -p0.1
status current=a
kubelet back
    -c0.2 +c0.3=b
    -p1.0 +p1.1=b
    -p2.1 +p2.2=b
status current=b
