Without a canary an analysis that has not passed gates nothing
shows: gate-no-canary, gate-exists

replicas 2
create a
    +p0.0=a +p1.0=a
analysis pending
edit b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b gate=none
