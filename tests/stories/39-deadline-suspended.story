The clock stands still while no Pod is wanted
shows: deadline-still, completes-none, suspend-keeps, scale-zero

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
suspend
    -p0.1 -p1.0
wait 5000
status failed=none current=a
unsuspend
    +p0.2=f +p1.1=a
wait 300
status failed=none
