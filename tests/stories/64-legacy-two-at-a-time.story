As many consumers move at a time as may be away
shows: legacy-step, legacy-budget

replicas 4; maxUnavailable 2; legacy 4
create a
status current=a available=4
