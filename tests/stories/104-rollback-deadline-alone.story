A rollback is past its deadline also when no Pod of another revision is left
shows: failed-current, rollback-told

replicas 2
create a
    +p0.0=a +p1.0=a
edit e
    -p0.0 +p0.1=e
kubelet away; edit a
    -p0.1 +p0.2=a
status Progressing=RolloutProgressing
wait 590
status Progressing=RolloutProgressing
crash
wait 110
    -p0.1!
status Progressing=ProgressDeadlineExceeded Ready=ProgressDeadlineExceeded phase=Stalled failed=none
told RolloutStarted RolloutCompleted RolloutStarted RolloutStarted ProgressDeadlineExceeded
kubelet back
status Progressing=NewRevisionAvailable phase=Complete available=2
told RolloutCompleted
