A past deadline does not hold the move of a Pod between the sets
shows: canary-move-deadline, failed-deadline-pause

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit f
    -p0.0 +p0.1=f
wait 700
status Progressing=ProgressDeadlineExceeded
maxUnavailable 2
canary on
    -p2.0 +c0.0=f
status Progressing=ProgressDeadlineExceeded
