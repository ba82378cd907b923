The Python operator comes back in the middle of the move
shows: legacy-operator

replicas 2; legacy 2; kubelet away
create a
    legacy:2>1
    +p0.0=a
python applies 2
    claim:legacy=2
kubelet back
status Applied=LegacyOperatorRunning
wait 400
    legacy:2>1
    legacy:1>0
    +p1.0=a -legacy-map -legacy
    -marks
status current=a available=2 Applied=Applied
