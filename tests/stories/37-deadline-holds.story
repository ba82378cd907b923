Past the deadline no available Pod is given up, and the rollout goes on when the updated one becomes available
shows: deadline-holds, failed-deadline-pause, deadline-goes-on

replicas 3
maxUnavailable 2
create a
    +p0.0=a +p1.0=a +p2.0=a
kubelet away
edit b
    -p0.0 -p1.0 +p0.1=b +p1.1=b
wait 700
    -p0.0! -p1.0!
status Progressing=ProgressDeadlineExceeded
kubelet back
    -p2.0 +p2.1=b
status current=b phase=Complete
