A rollback of one replica is handed over too
shows: hand-over-rollback, rollback-told

replicas 1
create a
    +p0.0=a
edit b
    +p0.1=b
    -p0.0
status current=b
edit a
    +p0.2=a
    -p0.1
status current=a available=1
