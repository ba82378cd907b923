//! The table of Pod shapes, each with what the kubelet or the control plane makes of it and where that is written.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    Pod, PodCondition, PodSpec, PodStatus, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::*;

/// A Pod created at second 0, whose consumer is the container `consumer`.
struct Shape(Pod);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn time(second: i64) -> Option<Time> {
    Some(Time(at(second)))
}

fn shape(phase: &str) -> Shape {
    let consumer = Container {
        name: "consumer".to_owned(),
        volume_mounts: Some(vec![VolumeMount {
            mount_path: "/etc/pipeline-config".to_owned(),
            name: "pipeline-config".to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    let container = |name: &str, restart_policy: Option<&str>| Container {
        name: name.to_owned(),
        restart_policy: restart_policy.map(str::to_owned),
        ..Container::default()
    };
    Shape(Pod {
        metadata: ObjectMeta {
            creation_timestamp: time(0),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![container("sidecar", None), consumer],
            init_containers: Some(vec![
                container("setup", None),
                container("proxy", Some("Always")),
                container("check", None),
            ]),
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            phase: Some(phase.to_owned()),
            start_time: time(0),
            ..PodStatus::default()
        }),
    })
}

fn waits(reason: &str) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: (!reason.is_empty()).then(|| reason.to_owned()),
            message: Some("the kubelet's words".to_owned()),
        }),
        ..ContainerState::default()
    }
}

fn ended(exit_code: i32, reason: &str, finished: i64) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code,
            reason: (!reason.is_empty()).then(|| reason.to_owned()),
            started_at: time(1),
            finished_at: time(finished),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

fn runs(since: i64) -> ContainerState {
    ContainerState {
        running: Some(ContainerStateRunning {
            started_at: time(since),
        }),
        ..ContainerState::default()
    }
}

impl Shape {
    fn status(mut self, change: impl FnOnce(&mut PodStatus)) -> Self {
        change(self.0.status.get_or_insert_default());
        self
    }
    fn reason(self, reason: &str) -> Self {
        self.status(|status| status.reason = Some(reason.to_owned()))
    }
    fn condition(self, type_: &str, holds: &str, reason: &str, since: i64) -> Self {
        self.status(|status| {
            status.conditions.get_or_insert_default().push(PodCondition {
                type_: type_.to_owned(),
                status: holds.to_owned(),
                reason: (!reason.is_empty()).then(|| reason.to_owned()),
                last_transition_time: time(since),
                ..PodCondition::default()
            });
        })
    }
    fn ready(self, since: i64) -> Self {
        self.condition("Ready", "True", "", since)
    }
    fn container(self, name: &str, state: ContainerState) -> Self {
        self.status(|status| {
            status
                .container_statuses
                .get_or_insert_default()
                .push(status_of(name, state))
        })
    }
    fn init(self, name: &str, state: ContainerState) -> Self {
        self.status(|status| {
            status
                .init_container_statuses
                .get_or_insert_default()
                .push(status_of(name, state))
        })
    }
    fn consumer(self, state: ContainerState) -> Self {
        self.container("consumer", state)
    }
    fn deleted(mut self, second: i64) -> Self {
        self.0.metadata.deletion_timestamp = time(second);
        self
    }
    fn forced(mut self) -> Self {
        self.0.metadata.deletion_grace_period_seconds = Some(0);
        self
    }
    fn without_status(mut self) -> Self {
        self.0.status = None;
        self
    }
}

fn status_of(name: &str, state: ContainerState) -> ContainerStatus {
    ContainerStatus {
        name: name.to_owned(),
        state: Some(state),
        ..ContainerStatus::default()
    }
}

fn health(shape: &Shape, second: i64) -> Health {
    let graces = Graces {
        waiting: SignedDuration::from_secs(300),
        terminating: SignedDuration::from_secs(600),
        not_ready: SignedDuration::from_secs(900),
    };
    classify(&shape.0, at(second), &graces)
}

/// The verdict and its marks, in words.
fn said(shape: &Shape, second: i64) -> String {
    let health = health(shape, second);
    let mut words = vec![match &health.verdict {
        Verdict::Ready => "ready".to_owned(),
        Verdict::Waiting(reason) => format!("waiting {reason}"),
        Verdict::Failed(reason) => format!("failed {reason}"),
        Verdict::Terminating => "terminating".to_owned(),
        Verdict::Stuck => "stuck".to_owned(),
    }];
    let marks = [
        (health.report, "reported"),
        (health.replace, "replaced"),
        (health.permanent, "permanent"),
        (health.disruption, "disruption"),
    ];
    words.extend(marks.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.to_owned()));
    words.join(", ")
}

/// Each row: at which second of the Pod's life it is looked at, its shape, and what is said.
fn check(rows: Vec<(i64, Shape, &str)>) {
    for (number, (second, shape, expected)) in rows.into_iter().enumerate() {
        assert_eq!(said(&shape, second), expected, "row {number}");
    }
}

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

#[test]
fn the_grace_of_a_wait_begins_when_the_wait_does() {
    let after_setup = |reason| {
        shape("Pending")
            .init("setup", ended(0, "Completed", 1000))
            .consumer(waits(reason))
    };
    let after_proxy = shape("Pending")
        .init("proxy", runs(1000))
        .consumer(waits("ErrImagePull"));
    let initialized = shape("Pending")
        .condition("Initialized", "True", "", 1000)
        .consumer(waits("ErrImagePull"));
    let check_waits = shape("Pending")
        .init("setup", ended(0, "", 1000))
        .init("check", waits("ErrImagePull"));
    check(vec![
        (1299, after_setup("ErrImagePull"), "waiting ErrImagePull, reported"),
        (
            1300,
            after_setup("ErrImagePull"),
            "waiting ErrImagePull, reported, replaced",
        ),
        (1299, after_proxy, "waiting ErrImagePull, reported"),
        (1299, initialized, "waiting ErrImagePull, reported"),
        (1299, check_waits, "waiting ErrImagePull, reported"),
    ]);
}

#[test]
fn a_verdict_that_time_alone_changes_says_when() {
    let wake = |shape: Shape, second| health(&shape, second).wake;
    assert_eq!(wake(shape("Pending").consumer(waits("ErrImagePull")), 5), Some(at(300)));
    assert_eq!(wake(shape("Pending").consumer(waits("ErrImagePull")), 300), None);
    assert_eq!(wake(shape("Running").deleted(30), 40), Some(at(630)));
    assert_eq!(
        wake(shape("Running").condition("Ready", "False", "", 10), 40),
        Some(at(910))
    );
    assert_eq!(wake(shape("Running").consumer(runs(1)).ready(2), 40), None);
    assert_eq!(wake(shape("Pending").consumer(waits("SomethingNew")), 40), None);
}

#[test]
fn the_back_off_counts_from_the_last_end_or_from_the_end_of_the_grace() {
    let failed_at = |shape: Shape, second| health(&shape, second).failed_at;
    let two = shape("Failed")
        .container("sidecar", ended(0, "Completed", 7))
        .consumer(ended(1, "Error", 4));
    assert_eq!(failed_at(two, 20), Some(at(7)));
    assert_eq!(
        failed_at(shape("Pending").consumer(waits("ErrImagePull")), 500),
        Some(at(300))
    );
    assert_eq!(failed_at(shape("Failed").reason("OutOfcpu"), 20), Some(at(0)));
    assert_eq!(failed_at(shape("Running").ready(1), 20), None);
}

#[test]
fn how_long_the_consumer_ran_is_told_from_its_own_container() {
    let ran = |shape: Shape, second| health(&shape, second).ran.as_secs();
    assert_eq!(ran(shape("Failed").consumer(ended(1, "Error", 601)), 700), 600);
    assert_eq!(
        ran(
            shape("Running")
                .container("sidecar", runs(1))
                .consumer(ended(1, "Error", 4)),
            900
        ),
        3
    );
    assert_eq!(ran(shape("Running").consumer(runs(100)), 700), 600);
    assert_eq!(ran(shape("Pending"), 700), 0);
}

#[test]
fn the_kubelets_words_come_with_the_verdict() {
    let message = |shape: Shape| health(&shape, 9).message;
    let waiting = shape("Pending").consumer(waits("CreateContainerConfigError"));
    assert_eq!(message(waiting).as_deref(), Some("the kubelet's words"));
    let failed = shape("Failed").consumer(ended(3, "Error", 4));
    assert_eq!(
        message(failed).as_deref(),
        Some("container consumer ended with exit code 3")
    );
}

#[test]
fn a_waiting_reason_is_read_back_as_it_is_said() {
    for reason in WaitingReason::ALL {
        assert_eq!(&WaitingReason::parse(reason.as_str()), reason);
    }
    assert_eq!(WaitingReason::parse("New"), WaitingReason::Other("New".to_owned()));
}
