A restart of one Pod is handed over
shows: restart, hand-over, hand-over-restart

replicas 1
create a
    +p0.0=a
restart in 0
    +p0.1=a
    -p0.0
status available=1
