replicas 0 and suspend drain at once, and what was there comes back
shows: scale-zero, completes-none, suspend-keeps

replicas 3
canary on
create a
    +c0.0=a +p0.0=a +p1.0=a
replicas 0
    -c0.0 -p0.0 -p1.0
edit b
status current=a Ready=ScaledToZero
replicas 2
    +c0.1=b +p0.1=a
    -p0.1 +p0.2=b
status current=b
suspend
    -c0.1 -p0.2
status Ready=Suspended
unsuspend
    +c0.2=b +p0.3=b
status available=2
