A rollback mounts the ConfigMap that was made for the old revision, and makes none
shows: rollback-config, rollback-ungated

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
status maps=a
analysis pending; edit b
    -c0.0 +c0.1=b
status maps=a+b
edit a
    -c0.1 +c0.2=a
status maps=a+b current=a gate=none
