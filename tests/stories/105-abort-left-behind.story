An order to abort that was left behind does nothing when its revision is tried again, until it is set anew
shows: order-attempt, new-again

replicas 2
create a
    +p0.0=a +p1.0=a
edit f
    -p0.0 +p0.1=f
abort f
    -p0.1 +p0.2=a
status failed=f phase=RolledBack ignored=none
edit a
edit f
    -p0.2 +p0.3=f
status failed=none phase=Progressing ignored=abort RolloutPaused~annotate
crash
wait 60
status failed=none phase=Progressing ignored=abort
order abort none
abort f
    -p0.3 +p0.4=a
status failed=f phase=RolledBack ignored=none
resume f
    -p0.4 +p0.5=f
status failed=none ignored=abort
