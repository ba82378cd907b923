The Python operator comes back in the middle of the move
shows: legacy-operator

replicas 2; legacy 2; kubelet away
create a
python applies 2
kubelet back
status Applied=LegacyOperatorRunning
wait 400
status current=a available=2 Applied=Applied
