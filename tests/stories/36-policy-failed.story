An identity that must not run twice is replaced with a gap
shows: hand-over-policy, budget-cap-one

replicas 1
policy Failed
create a
    +p0.0=a
kubelet away
edit b
    -p0.0
status available=0
kubelet back
    +p0.1=b
status current=b
