Ours that do not work take no more than maxUnavailable places
shows: legacy-free, legacy-budget

replicas 3; legacy 3
create f
status available=2 phase=Progressing
edit b
status current=b available=3
