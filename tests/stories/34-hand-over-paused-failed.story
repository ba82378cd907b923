While paused a failed successor is not made again
shows: hand-over-paused-failed

replicas 1
create a
    +p0.0=a
edit d
    +p0.1=d
    +p0.2=d -p0.1
pause
    -p0.2
wait 400
status available=1
unpause
    +p0.3=d
    +p0.4=d -p0.3
