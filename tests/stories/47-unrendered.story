A spec that cannot be rendered leaves everything running and healed
shows: unrendered, unrendered-told

replicas 2
create a
    +p0.0=a +p1.0=a
cannot be rendered
lose p1.0
    +p1.1=a
status available=2 current=a Ready=RenderFailed Rendered=RenderFailed Stalled=RenderFailed
edit b
    -p0.0 +p0.1=b
    -p1.1 +p1.2=b
status current=b
