Paused holds an automatic rollback too
shows: paused-holds

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
wait 700
    -p0.1 +p0.2=a
status phase=RolledBack
edit b
    -p0.2 +p0.3=b
    -p1.0 +p1.1=b
status current=b
pause
edit f
wait 2000
status failed=none
