A canary without an image holds the primaries, and editing back frees it
shows: gate-canary, rollback-ungated, budget-neither, gate-rollback

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
edit e
    -c0.0 +c0.1=e
status current=a available=2 gate=none
edit a
    -c0.1 +c0.2=a
status current=a phase=Complete available=3
