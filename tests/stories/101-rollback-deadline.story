A rollback past its deadline is only reported
shows: failed-current, rollback-ungated

replicas 4
maxUnavailable 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a +p2.0=a +p3.0=a
kubelet away; edit b
    -p0.0 -p1.0 +p0.1=b +p1.1=b
pause; kubelet back
status current=a available=4
maxUnavailable 1; kubelet away; edit a; unpause
    -p0.1 +p0.2=a
wait 700
    -p0.1!
status failed=none Progressing=ProgressDeadlineExceeded available=3
kubelet back
    -p1.1 +p1.2=a
status failed=none current=a available=4
