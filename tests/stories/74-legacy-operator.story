The Python operator still runs: the move stops, and goes on when it has stopped
shows: legacy-operator

replicas 3; legacy unclaimed 3
create a
python applies 3
status Applied=LegacyOperatorRunning available=3
wait 95
python applies 3
status Applied=LegacyOperatorRunning
wait 95
status Applied=LegacyOperatorRunning
wait 100
status current=a available=3 Applied=Applied
