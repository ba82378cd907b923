A Deployment of the Python operator is taken over step by step
shows: legacy-step, legacy-budget, legacy-zero, legacy-marks, legacy-sum

replicas 3; legacy 3
create a
    legacy:3>2
    +p0.0=a
    legacy:2>1
    +p1.0=a
    legacy:1>0
    +p2.0=a -legacy-map -legacy
    -marks
status current=a available=3 Applied=Applied
