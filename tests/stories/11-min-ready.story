A canary that is Ready but not for minReadySeconds opens no gate
shows: gate-min-ready, gate-canary

replicas 2
canary on
minReady 30
create a
    +c0.0=a +p0.0=a
wait 40
status current=a
edit b
    -c0.0 +c0.1=b
status gate=none
wait 40
    -p0.0 +p0.1=b
wait 40
status gate=b current=b
