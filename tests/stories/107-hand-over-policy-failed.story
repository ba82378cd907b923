Policy Failed in mid-hand-over keeps the Pod that serves of the two, and then gives the update its gap
shows: hand-over-policy, hand-over-scale

replicas 1
create a
    +p0.0=a
edit e
    +p0.1=e
wait 60
status available=1
policy Failed
    -p0.1
    -p0.0
    +p0.2=e
status available=0 current=a
edit a
    -p0.2
    +p0.3=a
status available=1 current=a
