One replica has no canary, and its update no gate
shows: canary-one, hand-over

replicas 1
canary on
create a
    +p0.0=a
analysis pending; edit b
    +p0.1=b
    -p0.0
status current=b gate=none
