The current revision never fails
shows: failed-current

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
unready p0.1
wait 2000
status failed=none current=b
