Without a canary a failed analysis holds further steps
shows: gate-no-canary, failed-analysis, failed-pause

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
kubelet away
edit b
    -p0.0 +p0.1=b
analysis failed
kubelet back
    -p0.1 +p0.2=a
status failed=b phase=Failed available=3
