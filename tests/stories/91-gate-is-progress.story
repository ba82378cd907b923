A gate that a person opens is progress: the clock begins anew
shows: deadline-progress, gate-promote

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
edit f
    -c0.0 +c0.1=f
wait 500
status gate=none
promote f
status gate=f
wait 500
status Progressing=RolloutProgressing
wait 200
status Progressing=ProgressDeadlineExceeded
