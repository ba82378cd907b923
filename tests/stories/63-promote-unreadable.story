An order to promote that cannot be read opens nothing and is named
shows: order-unreadable

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
analysis pending
edit b
    -c0.0 +c0.1=b
order promote yes
status gate=none ignored=promote phase=AwaitingAnalysis
order promote bbbbbbbbbb
    -p0.0 +p0.1=b
    -p1.0 +p1.1=b
status gate=b ignored=none current=b
