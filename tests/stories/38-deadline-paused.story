The clock stands still while paused
shows: deadline-still

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
wait 300
pause
wait 5000
status failed=none
unpause
wait 200
status failed=none
wait 200
    -p0.1 +p0.2=a
status failed=f phase=RolledBack available=2
