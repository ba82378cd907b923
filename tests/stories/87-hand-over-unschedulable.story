A second Pod that no node has room for: the old one runs on, and policy Failed is a way out
shows: hand-over-no-room, hand-over-policy

replicas 1
create a
    +p0.0=a
kubelet away; edit b
    +p0.1=b
unschedulable p0.1; kubelet back
status current=a available=1 Progressing=RolloutProgressing
wait 700
status Progressing=ProgressDeadlineExceeded available=1 Ready~nodes
policy Failed
    -p0.1
    -p0.0
    +p0.2=b
status current=b available=1
