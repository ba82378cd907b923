A terminating Pod is neither available nor counted against replicas: its successor does not wait for its end
shows: budget-terminating

replicas 3
create a
    +p0.0=a +p1.0=a +p2.0=a
kubelet away
edit b
    -p0.0 +p0.1=b
status available=2 total=3 terminating=1
