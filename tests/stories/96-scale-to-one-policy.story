Scaled to one with policy Failed: the surplus Pod serves until the Pod that takes over is available
shows: scale-policy, scale-one

replicas 2
policy Failed
create a
    +p0.0=a +p1.0=a
kubelet away
lose p0.0; replicas 1
    +p0.1=a
status available=1 total=2
kubelet back
    -p1.0
status available=1 total=1
