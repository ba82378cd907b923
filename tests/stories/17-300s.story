Primaries that all do not serve for 300 s are updated though the canary is not available
shows: gate-300, gate-300-unrecorded, budget-useless

replicas 3
maxUnavailable 2
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
unready p0.0
unready p1.0
wait 200
status gate=none
wait 200
    -p0.0 -p1.0 +p0.1=b +p1.1=b
status gate=none
