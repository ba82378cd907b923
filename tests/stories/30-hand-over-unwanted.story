Editing back in a hand-over takes the successor away
shows: hand-over-unwanted, rollback-ungated

replicas 1
create a
    +p0.0=a
edit f
    +p0.1=f
edit a
    -p0.1
status current=a available=1 phase=Complete
