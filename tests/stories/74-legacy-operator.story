The Python operator still runs: the move stops, and goes on when it has stopped
shows: legacy-operator

replicas 3; legacy unclaimed 3
create a
    claim:legacy=3
python applies 3
status Applied=LegacyOperatorRunning available=3
wait 95
    claim:legacy=3
python applies 3
status Applied=LegacyOperatorRunning
wait 95
    claim:legacy=3
status Applied=LegacyOperatorRunning
wait 100
    legacy:3>2
    +p0.0=a
    legacy:2>1
    +p1.0=a
    legacy:1>0
    +p2.0=a -legacy-map -legacy
    -marks
status current=a available=3 Applied=Applied
