While paused no hand-over begins, and a lost old Pod comes back
shows: hand-over-paused, hand-over-kept-paused, paused-heals

replicas 1
create a
    +p0.0=a
edit f
    +p0.1=f
pause
lose p0.0
    +p0.2=a
status available=1
edit b
    -p0.1
status current=a
unpause
    +p0.3=b
    -p0.2
status current=b
