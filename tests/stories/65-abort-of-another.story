An order to abort the current revision, another one, or none that can be read aborts nothing
shows: order-bound, order-unreadable

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
abort a
abort c
order abort latest
status failed=none ignored=abort
analysis passed
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b failed=none
