An update takes one Pod after the other
shows: budget-floor, budget-available, completes

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
    -p2.0 +p2.1=b
status current=b phase=Complete available=3
