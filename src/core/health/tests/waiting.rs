use super::super::waiting::WaitingReason;
use super::*;

// pkg/kubelet/images/types.go, cri-api pkg/errors/errors.go; on a real node ErrImagePull shows after 1 to 2 s, and
// ImagePullBackOff alternates with it from 13 to 18 s on.
#[test]
fn an_image_that_cannot_be_had_is_reported_at_once_and_the_pod_replaced_after_the_grace() {
    let pending = |reason| shape("Pending").consumer(waits(reason));
    check(vec![
        (2, pending("ErrImagePull"), "waiting ErrImagePull, reported"),
        (299, pending("ImagePullBackOff"), "waiting ImagePullBackOff, reported"),
        (
            300,
            pending("ImagePullBackOff"),
            "waiting ImagePullBackOff, reported, replaced",
        ),
        (300, pending("ErrImagePull"), "waiting ErrImagePull, reported, replaced"),
        (
            300,
            pending("RegistryUnavailable"),
            "waiting RegistryUnavailable, reported, replaced",
        ),
        (
            300,
            pending("SignatureValidationFailed"),
            "waiting SignatureValidationFailed, reported, replaced",
        ),
        (
            300,
            pending("ImageInspectError"),
            "waiting ImageInspectError, reported, replaced",
        ),
        (
            300,
            pending("ErrImageNeverPull"),
            "waiting ErrImageNeverPull, reported, replaced",
        ),
        (
            9999,
            pending("InvalidImageName"),
            "waiting InvalidImageName, reported, permanent",
        ),
    ]);
}

// pkg/kubelet/kuberuntime/kuberuntime_container.go, pkg/kubelet/container/sync_result.go; on a real node a command that
// does not exist leaves phase Running with RunContainerError.
#[test]
fn a_container_that_cannot_be_made_is_reported_at_once_and_the_pod_replaced_after_the_grace() {
    let pending = |reason| shape("Pending").consumer(waits(reason));
    check(vec![
        (
            1,
            pending("CreateContainerConfigError"),
            "waiting CreateContainerConfigError, reported",
        ),
        (
            300,
            pending("CreateContainerConfigError"),
            "waiting CreateContainerConfigError, reported, replaced",
        ),
        (
            300,
            pending("CreateContainerError"),
            "waiting CreateContainerError, reported, replaced",
        ),
        (
            1,
            shape("Running").consumer(waits("RunContainerError")),
            "waiting RunContainerError, reported",
        ),
        (
            300,
            pending("PreCreateHookError"),
            "waiting PreCreateHookError, reported, replaced",
        ),
        (
            300,
            pending("PreStartHookError"),
            "waiting PreStartHookError, reported, replaced",
        ),
        (
            300,
            pending("PostStartHookError"),
            "waiting PostStartHookError, reported, replaced",
        ),
    ]);
}

// pkg/kubelet/kubelet_pods.go, the default waiting state of a container.
#[test]
fn a_start_that_takes_long_is_reported_after_the_grace_and_never_replaced() {
    let pending = |reason| shape("Pending").consumer(waits(reason));
    check(vec![
        (299, pending("ContainerCreating"), "waiting ContainerCreating"),
        (300, pending("ContainerCreating"), "waiting ContainerCreating, reported"),
        (299, pending("PodInitializing"), "waiting PodInitializing"),
        (300, pending("PodInitializing"), "waiting PodInitializing, reported"),
        (
            299,
            pending("RestartingAllContainers"),
            "waiting RestartingAllContainers",
        ),
        (299, pending(""), "waiting ContainerCreating"),
        (299, shape("Pending"), "waiting Pending"),
        (300, shape("Pending"), "waiting Pending, reported"),
        (5, shape("Pending").without_status(), "waiting Pending"),
        (1, pending("SomethingNew"), "waiting SomethingNew, reported"),
        (9999, pending("SomethingNew"), "waiting SomethingNew, reported"),
    ]);
}

// pkg/kubelet/container/sync_result.go; only a native sidecar is restarted in a Pod with restartPolicy Never.
#[test]
fn a_native_sidecar_that_keeps_crashing_is_reported_and_its_exit_fails_nothing() {
    check(vec![
        (
            1,
            shape("Running").init("proxy", waits("CrashLoopBackOff")),
            "waiting CrashLoopBackOff, reported",
        ),
        (
            1,
            shape("Running").init("proxy", ended(1, "Error", 1)).ready(1),
            "ready",
        ),
    ]);
}

// k8s.io/api core/v1 PodReasonUnschedulable and its neighbours.
#[test]
fn a_pod_that_no_node_takes_is_reported_and_never_replaced() {
    let unscheduled = |reason| shape("Pending").condition("PodScheduled", "False", reason, 0);
    check(vec![
        (1, unscheduled("Unschedulable"), "waiting Unschedulable, reported"),
        (9999, unscheduled("Unschedulable"), "waiting Unschedulable, reported"),
        (1, unscheduled("SchedulingGated"), "waiting SchedulingGated, reported"),
        (1, unscheduled("SchedulerError"), "waiting SchedulerError, reported"),
        (
            1,
            shape("Pending").condition("PodScheduled", "True", "", 0),
            "waiting Pending",
        ),
    ]);
}

#[test]
fn every_known_reason_to_wait_has_a_shape_in_these_tables() {
    // Each table stands in the text of one of these files, its verdicts as literals.
    let tables = [
        include_str!("waiting.rs"),
        include_str!("running_and_ended.rs"),
        include_str!("times.rs"),
    ];
    for reason in WaitingReason::ALL {
        let verdict = format!("\"waiting {}", reason.as_str());
        assert!(
            tables.iter().any(|table| table.contains(&verdict)),
            "no shape has the verdict {verdict}"
        );
    }
}
