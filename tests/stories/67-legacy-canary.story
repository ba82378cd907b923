The canary Deployment goes first, and there is no gate
shows: legacy-canary, legacy-gate

replicas 3; canary on; requireAnalysis; legacy canary 1; legacy 2
create a
    legacy-canary:1>0
    +c0.0=a -legacy-canary
    legacy:2>1
    +p0.0=a
    legacy:1>0
    +p1.0=a -legacy-map -legacy
    -marks
status current=a available=3
