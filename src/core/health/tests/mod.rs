//! The table of Pod shapes, each with what the kubelet or the control plane makes of it and where that is written.

mod running_and_ended;
mod times;
mod waiting;

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

fn time(second: i64) -> Time {
    Time(at(second))
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
            creation_timestamp: Some(time(0)),
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
            start_time: Some(time(0)),
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
            started_at: Some(time(1)),
            finished_at: Some(time(finished)),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

fn runs(since: i64) -> ContainerState {
    ContainerState {
        running: Some(ContainerStateRunning {
            started_at: Some(time(since)),
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
                last_transition_time: Some(time(since)),
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
                .push(status_of(name, state));
        })
    }
    fn init(self, name: &str, state: ContainerState) -> Self {
        self.status(|status| {
            status
                .init_container_statuses
                .get_or_insert_default()
                .push(status_of(name, state));
        })
    }
    fn consumer(self, state: ContainerState) -> Self {
        self.container("consumer", state)
    }
    fn deleted(mut self, second: i64) -> Self {
        self.0.metadata.deletion_timestamp = Some(time(second));
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
