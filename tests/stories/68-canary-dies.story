A canary that dies after the promotion began is made again, and the rollout goes on
shows: gate-kept, budget-floor

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
kubelet away
analysis passed
    -p0.0 +p0.1=b
fail c0.1
    +c0.2=a -c0.1
status gate=b
kubelet back
    -c0.2 +c0.3=b
    -p1.0 +p1.1=b
    -p2.0 +p2.1=b
status current=b available=4
