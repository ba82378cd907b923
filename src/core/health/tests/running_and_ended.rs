use super::*;

#[test]
fn a_running_pod_is_ready_by_its_condition_and_reported_when_it_is_not_for_too_long() {
    let not_ready = || {
        shape("Running")
            .consumer(runs(1))
            .condition("Ready", "False", "ContainersNotReady", 10)
    };
    check(vec![
        (20, shape("Running").consumer(runs(1)).ready(2), "ready"),
        (909, not_ready(), "waiting NotReady"),
        (910, not_ready(), "waiting NotReady, reported"),
        (9999, not_ready(), "waiting NotReady, reported"),
        (1, shape("Unknown"), "waiting Unknown, reported"),
        (1, shape("Pending").ready(1), "waiting Pending"),
    ]);
}

// On a real node restartPolicy Never turns Running into Failed 1.4 s after the container ended, in a second update.
#[test]
fn an_ended_consumer_is_replaced_whether_its_phase_says_so_yet_or_not() {
    check(vec![
        (
            5,
            shape("Running").consumer(ended(1, "Error", 4)),
            "failed Error, reported, replaced",
        ),
        (
            6,
            shape("Failed").consumer(ended(1, "Error", 4)),
            "failed Error, reported, replaced",
        ),
        (
            6,
            shape("Failed").consumer(ended(137, "OOMKilled", 4)),
            "failed OOMKilled, reported, replaced",
        ),
        (
            6,
            shape("Failed").consumer(ended(3, "", 4)),
            "failed ExitCode3, reported, replaced",
        ),
        (
            6,
            shape("Failed").consumer(ended(128, "StartError", 4)),
            "failed StartError, reported, replaced",
        ),
        (6, shape("Failed"), "failed Failed, reported, replaced"),
        (
            6,
            shape("Succeeded").consumer(ended(0, "Completed", 4)),
            "failed Succeeded, reported, replaced",
        ),
        (
            5,
            shape("Running").consumer(ended(0, "Completed", 4)),
            "failed Succeeded, reported, replaced",
        ),
    ]);
}

#[test]
fn a_sidecar_fails_the_pod_only_with_an_error() {
    let serving = || shape("Running").consumer(runs(1)).ready(2);
    check(vec![
        (9, serving().container("sidecar", ended(0, "Completed", 4)), "ready"),
        (
            9,
            serving().container("sidecar", ended(2, "Error", 4)),
            "failed Error, reported, replaced",
        ),
        (
            9,
            shape("Running").container("sidecar", waits("ErrImagePull")).ready(2),
            "waiting ErrImagePull, reported",
        ),
    ]);
}

#[test]
fn an_init_container_is_named_as_such_when_it_fails() {
    check(vec![
        (
            5,
            shape("Pending").init("setup", ended(1, "Error", 4)),
            "failed InitContainerError, reported, replaced",
        ),
        (
            5,
            shape("Failed").init("setup", ended(1, "Error", 4)),
            "failed InitContainerError, reported, replaced",
        ),
        (
            5,
            shape("Pending").init("setup", ended(0, "Completed", 4)),
            "waiting Pending",
        ),
        (
            5,
            shape("Pending").init("setup", waits("ErrImagePull")),
            "waiting ErrImagePull, reported",
        ),
        (
            5,
            shape("Pending").init("setup", waits("InvalidImageName")),
            "waiting InvalidImageName, reported, permanent",
        ),
        (
            5,
            shape("Pending")
                .init("setup", runs(1))
                .consumer(waits("PodInitializing")),
            "waiting PodInitializing",
        ),
    ]);
}

// pkg/kubelet/{eviction,preemption,nodeshutdown}, pkg/util/node; DisruptionTarget: pkg/controller/{podgc,tainteviction},
// pkg/scheduler/framework/preemption; ContainerStatusUnknown: pkg/kubelet/kubelet_pods.go.
#[test]
fn what_happens_for_the_nodes_sake_is_a_disruption() {
    let failed = |reason| shape("Failed").reason(reason);
    check(vec![
        (9, failed("Evicted"), "failed Evicted, reported, replaced, disruption"),
        (
            9,
            failed("Preempting"),
            "failed Preempting, reported, replaced, disruption",
        ),
        (
            9,
            failed("Terminated"),
            "failed Terminated, reported, replaced, disruption",
        ),
        (
            9,
            failed("NodeShutdown"),
            "failed NodeShutdown, reported, replaced, disruption",
        ),
        (9, failed("NodeLost"), "failed NodeLost, reported, replaced, disruption"),
        (
            9,
            shape("Failed").consumer(ended(143, "Error", 4)).condition(
                "DisruptionTarget",
                "True",
                "EvictionByEvictionAPI",
                3,
            ),
            "failed Error, reported, replaced, disruption",
        ),
        (
            9,
            shape("Failed").consumer(ended(137, "ContainerStatusUnknown", 4)),
            "failed ContainerStatusUnknown, reported, replaced, disruption",
        ),
    ]);
}

// pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/active_deadline.go.
#[test]
fn what_the_kubelet_refuses_or_times_out_is_a_failure_of_the_pods_own() {
    let failed = |reason| shape("Failed").reason(reason);
    check(vec![
        (
            9,
            failed("UnexpectedAdmissionError"),
            "failed UnexpectedAdmissionError, reported, replaced",
        ),
        (9, failed("OutOfcpu"), "failed OutOfcpu, reported, replaced"),
        (9, failed("OutOfmemory"), "failed OutOfmemory, reported, replaced"),
        (9, failed("OutOfpods"), "failed OutOfpods, reported, replaced"),
        (9, failed("NodeAffinity"), "failed NodeAffinity, reported, replaced"),
        (
            9,
            failed("DeadlineExceeded"),
            "failed DeadlineExceeded, reported, replaced",
        ),
    ]);
}

// The API server writes the end of the Pod's own grace into deletionTimestamp.
#[test]
fn a_deleted_pod_is_terminating_whatever_else_it_is_and_stuck_past_the_grace() {
    let running = || shape("Running").consumer(runs(1)).ready(2);
    check(vec![
        (20, running().deleted(30), "terminating"),
        (629, running().deleted(30), "terminating"),
        (630, running().deleted(30), "stuck, reported, replaced"),
        (630, running().deleted(30).forced(), "stuck, reported"),
        (
            40,
            shape("Failed").consumer(ended(1, "Error", 4)).deleted(30),
            "terminating",
        ),
    ]);
}

#[test]
fn the_worst_container_decides() {
    let waiting = |reason| shape("Pending").container("sidecar", waits(reason));
    check(vec![
        (
            1,
            waiting("ErrImagePull").consumer(waits("InvalidImageName")),
            "waiting InvalidImageName, reported, permanent",
        ),
        (
            9,
            waiting("ErrImagePull").consumer(ended(1, "Error", 4)),
            "failed Error, reported, replaced",
        ),
        (
            1,
            waiting("ContainerCreating").consumer(waits("ErrImagePull")),
            "waiting ErrImagePull, reported",
        ),
        (
            1,
            waiting("ErrImagePull").init("setup", ended(1, "Error", 1)),
            "failed InitContainerError, reported, replaced",
        ),
    ]);
}
