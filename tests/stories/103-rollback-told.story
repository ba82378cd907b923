An edit back is told when it begins and when the Pods are back, also when none had been moved yet
shows: rollback-told

replicas 2
create a
    +p0.0=a +p1.0=a
told RolloutStarted RolloutCompleted
edit e
    -p0.0 +p0.1=e
told RolloutStarted
edit a
    -p0.1 +p0.2=a
told RolloutStarted RolloutCompleted
lose p1.0
    +p1.1=a
told nothing
kubelet away; pause; edit e
edit a
told RolloutStarted RolloutPaused RolloutStarted RolloutResumed RolloutCompleted
