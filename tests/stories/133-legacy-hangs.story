A Deployment that hangs in a rolling update is set back to the Pods that serve, and then moves
shows: legacy-hangs

replicas 4; legacy hangs 4
create a
    legacy<before
    legacy:4>3
    +p0.0=a
    legacy:3>2
    +p1.0=a
    legacy:2>1
    +p2.0=a
    legacy:1>0
    +p3.0=a -legacy-map -legacy
    -marks
status current=a available=4
