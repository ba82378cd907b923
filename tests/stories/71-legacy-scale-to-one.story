Scaled to one, the last legacy consumer stays until ours serves
shows: legacy-scale, legacy-one

replicas 3; legacy 3; pause
create a
replicas 1
unpause
status current=a available=1
