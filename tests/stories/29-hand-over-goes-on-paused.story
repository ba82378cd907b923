A hand-over that has begun goes to its end while paused
shows: hand-over-paused

replicas 1
create a
    +p0.0=a
kubelet away
edit b
    +p0.1=b
pause
kubelet back
    -p0.0
status current=b available=1
