A revision that fails where it stands frees the place of a broken Pod of the try before
shows: failed-pause, budget-neither

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit e
    -p0.0 +p0.1=e
edit c; analysis failed
    -p0.1 +p0.2=a
status failed=c phase=Failed available=3
