A place that is lost as a revision begins gets that one, and the first place of all the only one there is
shows: created-primary, created-first

kubelet away; replicas 3; maxUnavailable 2
create a
    +p0.0=a +p1.0=a +p2.0=a
lose p1.0
    +p1.1=a
status current=none
kubelet back
status current=a
kubelet away; lose p0.0; edit b
    -p1.1 +p0.1=b +p1.2=b
kubelet back
    -p2.0 +p2.1=b
status current=b
