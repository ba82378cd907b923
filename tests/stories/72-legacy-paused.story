While paused no consumer is taken off
shows: legacy-paused

replicas 2; pause; legacy 2
create a
status available=2 phase=Paused
unpause
status current=a available=2
