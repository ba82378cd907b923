The first deployment makes all Pods at once and has no gate
shows: gate-first, canary-split, completes

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
status current=a phase=Complete Ready=Ready available=3
