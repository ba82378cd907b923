A scale down takes the Deployment first, down to what the floor needs
shows: legacy-scale, legacy-sum

replicas 4; legacy 4; pause
create a
replicas 2
unpause
status current=a available=2
