Consumers that serve nobody go without the budget, while ours can be tried
shows: legacy-free

replicas 3; legacy broken 3
create a
status current=a available=3
