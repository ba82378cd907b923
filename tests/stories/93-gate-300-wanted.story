The 300 s without primaries begin when primaries are wanted again
shows: gate-300-wanted, gate-300

replicas 3
maxUnavailable 2
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
suspend
    -c0.0 -p0.0 -p1.0
analysis pending; edit b
wait 1000
kubelet away; unsuspend
    +c0.1=b +p0.1=a +p1.1=a
unready p0.1; unready p1.1; kubelet back
wait 250
status gate=none
wait 100
    -p0.1 -p1.1 +p0.2=b +p1.2=b
status gate=none
