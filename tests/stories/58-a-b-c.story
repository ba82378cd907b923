A second edit in mid-rollout goes straight to the newest
shows: new-clears, budget-floor

replicas 4
create a
    +p0.0=a +p1.0=a +p2.0=a +p3.0=a
kubelet away
edit b
    -p0.0 +p0.1=b
edit c
kubelet back
    -p0.1 +p0.2=c
    -p1.0 +p1.1=c
    -p2.0 +p2.1=c
    -p3.0 +p3.1=c
status current=c available=4
