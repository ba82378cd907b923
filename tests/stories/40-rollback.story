With Rollback a passed deadline sends the Pods back
shows: failed-deadline, failed-kept

replicas 3
onFailure Rollback
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
edit f
    -c0.0 +c0.1=f
wait 700
    -c0.1 +c0.2=a
status failed=f phase=RolledBack available=3 current=a
crash
wait 700
status failed=f phase=RolledBack available=3 current=a
