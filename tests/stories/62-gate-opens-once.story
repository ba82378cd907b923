A canary that is lost after promotion began does not shut the gate
shows: gate-kept, deadline-progress

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
kubelet away
analysis passed
    -p0.0 +p0.1=b
lose c0.1
    +c0.2=a
status gate=b
wait 500
status Progressing=RolloutProgressing
wait 200
    -p0.0!
status Progressing=ProgressDeadlineExceeded gate=b
kubelet back
    -c0.2 +c0.3=b
    -p1.0 +p1.1=b
    -p2.0 +p2.1=b
status current=b
