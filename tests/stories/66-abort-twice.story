An order to abort given twice does nothing more, and left behind it lets the next revision be
shows: failed-abort, order-bound

replicas 2
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
abort f
    -p0.1 +p0.2=a
abort f
status failed=f phase=RolledBack available=2
edit b
    -p0.2 +p0.3=b
    -p1.0 +p1.1=b
status failed=none current=b phase=Complete
