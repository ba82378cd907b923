A restart replaces older Pods within the budget, without a gate, with their own revision
shows: restart, restart-future

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
restart in 100
wait 50
wait 60
    -c0.0 +c0.1=a
    -p0.0 +p0.1=a
    -p1.0 +p1.1=a
status current=a available=3
