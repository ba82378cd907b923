Also with policy Failed a scale down keeps an available surplus Pod while the one that is wanted does not serve
shows: scale-policy, scale-keeps, scale-unavailable

replicas 3
policy Failed
create a
    +p0.0=a +p1.0=a +p2.0=a
unready p0.0
replicas 2
    -p2.0
replicas 1
status available=1
