The canary is updated first, and the primaries follow when it is available
shows: canary-first, gate-canary, gate-kept

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
edit b
    -c0.0 +c0.1=b
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b gate=b
