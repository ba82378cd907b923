While the canary is needed as an available Pod, unavailable primaries move first and without the gate
shows: budget-canary, budget-primaries-first

replicas 2
canary on
create a
    +c0.0=a +p0.0=a
unready p0.0
edit b
    -p0.0 +p0.1=b
    -c0.0 +c0.1=b
status current=b
