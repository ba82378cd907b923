An unavailable old Pod is moved first and without spending the budget
shows: budget-free, budget-unavailable

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
unready p2.0
edit b
    -p2.0 +p2.1=b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b
