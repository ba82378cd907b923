A person lets a failed revision try again
shows: failed-resume

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
wait 700
    -p0.1 +p0.2=a
status failed=f
resume f
    -p0.2 +p0.3=f
status failed=none phase=Progressing
