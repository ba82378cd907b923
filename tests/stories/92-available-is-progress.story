Each updated Pod that becomes available is progress: a rollout may take longer than the deadline
shows: deadline-progress

replicas 4
minReady 250
create a
    +p0.0=a +p1.0=a +p2.0=a +p3.0=a
wait 300
edit b
    -p0.0 +p0.1=b
wait 260
    -p1.0 +p1.1=b
wait 260
    -p2.0 +p2.1=b
wait 260
    -p3.0 +p3.1=b
status Progressing=RolloutProgressing current=a
wait 260
status current=b phase=Complete
