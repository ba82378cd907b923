A second Pod that the quota refuses: the old one runs on, the deadline passes, and room lets it go on
shows: hand-over-no-room

replicas 1
create a
    +p0.0=a
quota full; edit b
    +p0.1=b
    refused
    +p0.1=b
    refused
status current=a available=1 Progressing=RolloutProgressing Progressing~quota
wait 700
    +p0.1=b
    refused
    +p0.1=b
    refused
    +p0.1=b
    refused
    +p0.1=b
    refused
status Progressing=ProgressDeadlineExceeded Progressing~quota available=1
quota free
    +p0.1=b
    -p0.0
status current=b available=1
