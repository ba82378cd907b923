A spec that cannot be rendered in mid-rollout holds it, and heals with the current revision
shows: unrendered

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
edit f
    -p0.0 +p0.1=f
cannot be rendered
lose p1.0
    +p1.1=a
status available=2 current=a
