A passed deadline does not end a hand-over
shows: hand-over-deadline, deadline-holds

replicas 1
create a
    +p0.0=a
edit f
    +p0.1=f
wait 700
status Progressing=ProgressDeadlineExceeded available=1
edit b
    -p0.1
    +p0.2=b
    -p0.0
status current=b
