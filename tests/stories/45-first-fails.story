Without a current revision a failure is only reported
shows: failed-none

replicas 2
onFailure Rollback
create f
    +p0.0=f +p1.0=f
wait 700
status failed=none Progressing=ProgressDeadlineExceeded
edit a
    -p0.0 -p1.0 +p0.1=a +p1.1=a
status current=a
