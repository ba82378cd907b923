What a place that is empty gets while a canary is tried
shows: created-primary, created-canary, created-broken, created-current

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
lose p0.0
    +p0.1=a
lose c0.1
    +c0.2=b
kubelet away; promote b
    -p0.1 +p0.2=b
lose p1.0
    +p1.1=a
lose c0.2
    +c0.3=a
pause
lose p2.0
    +p2.1=a
status current=a
