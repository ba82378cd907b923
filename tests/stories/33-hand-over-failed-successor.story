A crashing successor is made again beside the old Pod, with back-off
shows: hand-over-failed

replicas 1
create a
    +p0.0=a
edit d
    +p0.1=d
    +p0.2=d -p0.1
wait 100
    +p0.3=d -p0.2
    +p0.4=d -p0.3
    +p0.5=d -p0.4
status available=1 current=a
