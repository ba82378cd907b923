The passed deadline is over when the canary becomes available, long before the rollout is
shows: deadline-ends, deadline-progress

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending; kubelet away
edit b
    -c0.0 +c0.1=b
wait 500
status Progressing=RolloutProgressing
wait 200
    -c0.0!
status Progressing=ProgressDeadlineExceeded
kubelet back
status Progressing=AwaitingAnalysis current=a
