The only consumer of a Deployment that hangs is handed over when the Pod beyond its number is gone
shows: legacy-hangs

replicas 1; legacy hangs 1
create e
    legacy<before
    +p0.0=e
status available=1
edit a
    -p0.0 +p0.1=a
    legacy:1>0
    -legacy-map -legacy
    -marks
status current=a available=1
