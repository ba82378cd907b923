A Deployment of the Python operator is taken over step by step
shows: legacy-step, legacy-budget, legacy-zero, legacy-marks, legacy-sum

replicas 3; legacy 3
create a
status current=a available=3 Applied=Applied
