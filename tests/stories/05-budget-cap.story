maxUnavailable as large as replicas leaves one Pod
shows: budget-cap

replicas 2
maxUnavailable 2
create a
    +p0.0=a +p1.0=a
edit e
    -p0.0 +p0.1=e
status available=1 current=a
