One replica, an image that is not there, and the old Pod evicted: it comes back beside the broken one
shows: hand-over-kept, budget-unavailable

replicas 1
create a
    +p0.0=a
edit e
    +p0.1=e
status available=1
lose p0.0
    +p0.2=a
status available=1 current=a
edit b
    -p0.1
    +p0.3=b
    -p0.2
status current=b phase=Complete
