An ordinal that waits for the replacement of a failed Pod keeps its place, and the Deployment gives way
shows: legacy-sum

replicas 2; legacy 2
create d
wait 60
edit b
status current=b available=2
