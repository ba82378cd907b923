A canary that does not serve is moved though the budget is spent and the gate shut
shows: budget-free-canary, canary-first

replicas 4
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a +p2.0=a
analysis pending
unready c0.0
unready p0.0
edit b
    -c0.0 +c0.1=b
status gate=none available=3
