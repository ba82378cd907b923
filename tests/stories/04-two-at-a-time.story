With maxUnavailable 2 two Pods go at a time
shows: budget-floor

replicas 5
maxUnavailable 2
create a
    +p0.0=a +p1.0=a +p2.0=a +p3.0=a +p4.0=a
edit b
    -p0.0 -p1.0 +p0.1=b +p1.1=b
    -p2.0 -p3.0 +p2.1=b +p3.1=b
    -p4.0 +p4.1=b
status current=b available=5
