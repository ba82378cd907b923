With requireAnalysis the gate waits until there is an analysis
shows: gate-require

replicas 2
canary on
requireAnalysis
create a
    +c0.0=a +p0.0=a
edit b
    -c0.0 +c0.1=b
status gate=none phase=AwaitingAnalysis
analysis passed
    -p0.0 +p0.1=b
status current=b gate=b
