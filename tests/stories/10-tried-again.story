A revision that was tried before is tried afresh
shows: new-again, new-clears, failed-until

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
wait 700
    -p0.1 +p0.2=a
status failed=f phase=RolledBack available=2
edit b
    -p0.2 +p0.3=b
    -p1.0 +p1.1=b
status current=b failed=none
edit f
    -p0.3 +p0.4=f
status failed=none phase=Progressing
