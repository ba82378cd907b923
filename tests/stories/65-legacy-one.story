The only consumer goes when ours, made beside it, is available
shows: legacy-one

replicas 1; legacy 1
create a
status current=a available=1
