A rollout that is stuck on a broken revision is freed by fixing the spec
shows: budget-neither, budget-neither-freed, new-clears, budget-fresh

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit e
    -p0.0 +p0.1=e
status available=2 current=a
edit b
    -p0.1 +p0.2=b
    -p1.0 +p1.1=b
    -p2.0 +p2.1=b
status current=b phase=Complete
