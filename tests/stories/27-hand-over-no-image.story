One Pod and an image that cannot be pulled: the old Pod runs on, and comes back when it is lost
shows: hand-over, hand-over-kept

replicas 1
create a
    +p0.0=a
edit e
    +p0.1=e
status available=1
lose p0.0
    +p0.2=a
status available=1 current=a
