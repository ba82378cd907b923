Abort of a revision that has completed does nothing
shows: failed-current

replicas 2
create a
    +p0.0=a +p1.0=a
edit b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
abort b
status current=b failed=none available=2
