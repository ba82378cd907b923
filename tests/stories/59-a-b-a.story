An edit back in mid-rollout replaces only what was updated
shows: rollback-ungated, new-again, gate-rollback

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
edit f
    -c0.0 +c0.1=f
edit a
    -c0.1 +c0.2=a
status current=a phase=Complete available=4
