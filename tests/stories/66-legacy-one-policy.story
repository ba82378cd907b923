With policy Failed ours is made when the only consumer is gone
shows: legacy-one-policy

replicas 1; policy Failed; legacy 1
create a
status current=a available=1
