While paused a broken Pod of a revision that is neither stays
shows: budget-neither-paused, budget-neither, paused-holds

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit f
    -p0.0 +p0.1=f
pause
edit b
wait 100
unpause
    -p0.1 +p0.2=b
    -p1.0 +p1.1=b
    -p2.0 +p2.1=b
status current=b
