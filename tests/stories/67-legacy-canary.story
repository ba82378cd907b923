The canary Deployment goes first, and there is no gate
shows: legacy-canary, legacy-gate

replicas 3; canary on; requireAnalysis; legacy canary 1; legacy 2
create a
status current=a available=3
