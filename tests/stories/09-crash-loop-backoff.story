A crashing revision is tried again with back-off, and a fix does not wait for it
shows: budget-fresh, new-clears, deadline-progress

replicas 2
create a
    +p0.0=a +p1.0=a
edit d
    -p0.0 +p0.1=d
    +p0.2=d -p0.1
wait 60
    +p0.3=d -p0.2
    +p0.4=d -p0.3
edit b
    +p0.5=b -p0.4
    -p1.0 +p1.1=b
status current=b phase=Complete
