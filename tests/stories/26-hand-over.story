One Pod is handed over: the successor is made beside it
shows: hand-over, hand-over-once

replicas 1
create a
    +p0.0=a
edit b
    +p0.1=b
    -p0.0
status current=b available=1
