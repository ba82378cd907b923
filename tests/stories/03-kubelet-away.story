While the new Pod has not started no further old one goes
shows: budget-available, budget-floor

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
kubelet away
edit b
    -p0.0 +p0.1=b
status current=a available=2
kubelet back
    -p1.0 +p1.1=b
    -p2.0 +p2.1=b
status current=b available=3
