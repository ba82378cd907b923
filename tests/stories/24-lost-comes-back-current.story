A place that is lost while the new revision does not work comes back as current
shows: budget-unavailable, budget-useless

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit e
    -p0.0 +p0.1=e
lose p1.0
    +p1.1=a
status available=2
