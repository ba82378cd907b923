A revision that completed earlier is rolled out without waiting for its canary's analysis
shows: gate-rollback, gate-rollback-unrecorded, rollback-ungated

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
edit b
    -c0.0 +c0.1=b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b
analysis pending
edit a
    -c0.1 +c0.2=a
    -p0.1 +p0.2=a
    -p1.1 +p1.2=a
status current=a gate=none
