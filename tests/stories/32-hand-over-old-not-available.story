An old Pod that is not available goes first
shows: hand-over-first

replicas 1
create a
    +p0.0=a
unready p0.0
edit b
    -p0.0 +p0.1=b +p0.2=a
status available=1
wait 700
    -p0.0!
    -p0.2
status current=b
