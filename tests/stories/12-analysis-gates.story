The gate waits for an analysis, and the clock of the deadline stands still meanwhile
shows: gate-analysis, deadline-still

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
status gate=none phase=AwaitingAnalysis
wait 2000
status Progressing=AwaitingAnalysis failed=none
analysis passed
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status current=b phase=Complete
