A Deployment that was set back, and of which no Pod serves all the same, goes to 0 at once
shows: legacy-barren

replicas 4; legacy barren 4
create a
    legacy<before
wait 80
wait 20
    legacy:4>0
    +p0.0=a +p1.0=a +p2.0=a +p3.0=a -legacy-map -legacy
    -marks
status current=a available=4
