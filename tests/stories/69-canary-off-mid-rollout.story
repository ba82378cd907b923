The canary switched off in mid-rollout: its Pod moves to the primaries, and nothing gates them any more
shows: canary-move, gate-no-canary

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
status phase=AwaitingAnalysis
canary off
    -c0.1 +p2.0=b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b phase=Complete
