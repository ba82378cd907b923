An order to resume works once; one of before the failure, of another revision, or without a time does nothing
shows: order-once, order-bound, order-unreadable, failed-resume

replicas 2
onFailure Rollback
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
wait 700
    -p0.1 +p0.2=a
order resume ffffffffff@2020-01-01T00:00:00Z
order resume bbbbbbbbbb@2020-01-01T00:00:00Z
order resume ffffffffff
status failed=f ignored=resume
resume f
    -p0.2 +p0.3=f
status failed=none ignored=none
wait 700
    -p0.3 +p0.4=a
status failed=f phase=RolledBack available=2
