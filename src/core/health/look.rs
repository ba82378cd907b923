//! The rows of [`classify`](super::classify), each a look at one part of the Pod.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodCondition, PodStatus};

use crate::core::settings::later;

use super::{Graces, Health, Remedy, Verdict, WaitingReason};

/// Where every consumer finds its config; by this mount the consumer is told from its sidecars.
const CONSUMER_MOUNT: &str = "/etc/pipeline-config";

/// Words of `status.reason` for a Pod that was ended for the node's sake: kubelet eviction, preemption by a critical
/// Pod, node shutdown (pkg/kubelet/{eviction,preemption,nodeshutdown}), and a node that is gone (pkg/util/node).
const DISRUPTIONS: [&str; 6] = [
    "Evicted",
    "Preempting",
    "Terminated",
    "NodeShutdown",
    "Shutdown",
    "NodeLost",
];

/// A container that was running when its node lost it (pkg/kubelet/container `ContainerReasonStatusUnknown`).
const CONTAINER_LOST: &str = "ContainerStatusUnknown";

/// A Pod as it is looked at.
pub(super) struct Look<'a> {
    pod: &'a Pod,
    status: Option<&'a PodStatus>,
    now: Timestamp,
    graces: &'a Graces,
}

impl<'a> Look<'a> {
    pub(super) const fn new(pod: &'a Pod, now: Timestamp, graces: &'a Graces) -> Self {
        let status = pod.status.as_ref();
        Self {
            pod,
            status,
            now,
            graces,
        }
    }

    pub(super) fn deleted(&self) -> Option<Health> {
        // The API server writes the end of the Pod's own grace there, not the time of the request.
        let end = later(
            self.pod.metadata.deletion_timestamp.as_ref()?.0,
            self.graces.terminating,
        );
        if self.now < end {
            return Some(Health {
                wake: Some(end),
                ..Health::of(Verdict::Terminating)
            });
        }
        // Forced already: what keeps it is a finalizer, and asking again does not help.
        let forced = self.pod.metadata.deletion_grace_period_seconds == Some(0);
        Some(Health {
            report: true,
            replace: !forced,
            ..Health::of(Verdict::Stuck)
        })
    }

    pub(super) fn ended(&self) -> Option<Health> {
        let phase = self.phase_word()?;
        if phase != "Failed" && phase != "Succeeded" {
            return None;
        }
        let status = self.status?;
        let cause = self.failed_init_container().or_else(|| self.failed_container());
        let said = status.reason.as_deref().filter(|reason| !reason.is_empty());
        let (reason, message) = match (said, cause) {
            (Some(reason), _) => (reason.to_owned(), status.message.clone()),
            (None, Some(cause)) => (cause.reason, Some(cause.message)),
            (None, None) => (phase.to_owned(), status.message.clone()),
        };
        Some(self.failed(reason, message))
    }

    pub(super) fn unscheduled(&self) -> Option<Health> {
        let condition = self
            .condition("PodScheduled")
            .filter(|condition| condition.status == "False")?;
        let reason = WaitingReason::parse(condition.reason.as_deref().unwrap_or("Unschedulable"));
        Some(self.waiting(reason, condition.message.clone(), self.started()))
    }

    pub(super) fn init_containers(&self) -> Option<Health> {
        let failed = || {
            let cause = self.failed_init_container()?;
            Some(self.failed(cause.reason, Some(cause.message)))
        };
        let statuses = self.init_statuses();
        let since = |name: &str| self.init_wait_began(name);
        self.stuck(statuses, since, &[Remedy::Person])
            .or_else(failed)
            .or_else(|| self.stuck(statuses, since, &[Remedy::Replace]))
            .or_else(|| self.stuck(statuses, since, &[Remedy::Report]))
    }

    pub(super) fn containers(&self) -> Option<Health> {
        let failed = || {
            let cause = self.failed_container().or_else(|| self.finished_consumer())?;
            Some(self.failed(cause.reason, Some(cause.message)))
        };
        let statuses = self.statuses();
        let since = |_: &str| self.wait_began();
        self.stuck(statuses, since, &[Remedy::Person])
            .or_else(failed)
            .or_else(|| self.stuck(statuses, since, &[Remedy::Replace]))
            .or_else(|| self.stuck(statuses, since, &[Remedy::Report, Remedy::Patience]))
    }

    pub(super) fn phase(&self) -> Health {
        match self.phase_word() {
            Some("Running") if self.is_ready() => Health::of(Verdict::Ready),
            Some("Running") => {
                let ready = self.condition("Ready");
                let message = ready.and_then(|condition| condition.message.clone());
                self.waiting(WaitingReason::NotReady, message, self.not_ready_since())
            }
            Some("Unknown") => {
                let message = self.status.and_then(|status| status.message.clone());
                self.waiting(WaitingReason::Unknown, message, self.started())
            }
            _ => self.waiting(WaitingReason::Pending, None, self.started()),
        }
    }

    /// How long the consumer ran, or has been running. A Pod whose consumer cannot be told counts as its longest
    /// running container.
    pub(super) fn ran(&self) -> SignedDuration {
        let all = self.statuses();
        let consumer = self.consumer();
        let of = |status: &ContainerStatus| {
            let state = status.state.as_ref()?;
            let (from, to) = match (&state.running, &state.terminated) {
                (Some(running), _) => (running.started_at.as_ref()?.0, self.now),
                (None, Some(ended)) => (ended.started_at.as_ref()?.0, ended.finished_at.as_ref()?.0),
                (None, None) => return None,
            };
            Some(to.duration_since(from))
        };
        all.iter()
            .filter(|status| consumer.is_none_or(|consumer| consumer.name == status.name))
            .filter_map(of)
            .max()
            .unwrap_or_default()
            .max(SignedDuration::ZERO)
    }

    /// The first container that waits for a reason with one of these remedies.
    fn stuck(
        &self,
        statuses: &[ContainerStatus],
        since: impl Fn(&str) -> Timestamp,
        remedies: &[Remedy],
    ) -> Option<Health> {
        statuses.iter().find_map(|status| {
            let waiting = status.state.as_ref()?.waiting.as_ref()?;
            let word = waiting.reason.as_deref().filter(|reason| !reason.is_empty());
            let reason = word.map_or(WaitingReason::ContainerCreating, WaitingReason::parse);
            let message = waiting.message.clone();
            remedies
                .contains(&reason.remedy())
                .then(|| self.waiting(reason, message, since(&status.name)))
        })
    }

    fn waiting(&self, reason: WaitingReason, message: Option<String>, since: Timestamp) -> Health {
        let grace = match reason {
            WaitingReason::NotReady => self.graces.not_ready,
            _ => self.graces.waiting,
        };
        let end = later(since, grace);
        let over = self.now >= end;
        let remedy = reason.remedy();
        let changes = matches!(remedy, Remedy::Patience | Remedy::Replace);
        let replace = remedy == Remedy::Replace && over;
        Health {
            report: remedy != Remedy::Patience || over,
            replace,
            permanent: remedy == Remedy::Person,
            message,
            wake: (changes && !over).then_some(end),
            failed_at: replace.then_some(end),
            ..Health::of(Verdict::Waiting(reason))
        }
    }

    fn failed(&self, reason: String, message: Option<String>) -> Health {
        let targeted = self
            .condition("DisruptionTarget")
            .is_some_and(|condition| condition.status == "True");
        let disruption = targeted || reason == CONTAINER_LOST || DISRUPTIONS.contains(&reason.as_str());
        Health {
            report: true,
            replace: true,
            disruption,
            message,
            failed_at: Some(self.finished()),
            ..Health::of(Verdict::Failed(reason))
        }
    }

    fn failed_init_container(&self) -> Option<Cause> {
        let restarted = |name: &str| {
            self.init_specs()
                .iter()
                .any(|spec| spec.name == name && spec.restart_policy.as_deref() == Some("Always"))
        };
        let cause = self
            .init_statuses()
            .iter()
            .filter(|status| !restarted(&status.name))
            .find_map(nonzero_exit)?;
        Some(Cause {
            reason: format!("InitContainer{}", cause.reason),
            ..cause
        })
    }

    fn failed_container(&self) -> Option<Cause> {
        self.statuses().iter().find_map(nonzero_exit)
    }

    /// A consumer runs for ever; one that ended without an error is as missing as one that failed.
    fn finished_consumer(&self) -> Option<Cause> {
        let consumer = self.consumer()?;
        let status = self.statuses().iter().find(|status| status.name == consumer.name)?;
        status.state.as_ref()?.terminated.as_ref()?;
        Some(Cause {
            reason: "Succeeded".to_owned(),
            message: format!("container {} ended with exit code 0", consumer.name),
        })
    }

    fn consumer(&self) -> Option<&Container> {
        let containers = self.pod.spec.as_ref()?.containers.iter();
        containers.clone().find(|container| {
            let mounts = container.volume_mounts.as_deref().unwrap_or_default();
            mounts.iter().any(|mount| mount.mount_path == CONSUMER_MOUNT)
        })
    }

    fn statuses(&self) -> &'a [ContainerStatus] {
        self.status
            .and_then(|status| status.container_statuses.as_deref())
            .unwrap_or_default()
    }

    fn init_statuses(&self) -> &'a [ContainerStatus] {
        self.status
            .and_then(|status| status.init_container_statuses.as_deref())
            .unwrap_or_default()
    }

    fn init_specs(&self) -> &'a [Container] {
        let spec = self.pod.spec.as_ref();
        spec.and_then(|spec| spec.init_containers.as_deref())
            .unwrap_or_default()
    }

    fn condition(&self, type_: &str) -> Option<&'a PodCondition> {
        let conditions = self.status?.conditions.as_deref()?;
        conditions.iter().find(|condition| condition.type_ == type_)
    }

    fn phase_word(&self) -> Option<&'a str> {
        self.status?.phase.as_deref()
    }

    fn is_ready(&self) -> bool {
        self.condition("Ready")
            .is_some_and(|condition| condition.status == "True")
    }

    /// When the kubelet took the Pod, or else when it was created.
    fn started(&self) -> Timestamp {
        let started = self.status.and_then(|status| status.start_time.as_ref());
        let created = self.pod.metadata.creation_timestamp.as_ref();
        started.or(created).map_or(self.now, |time| time.0)
    }

    fn not_ready_since(&self) -> Timestamp {
        self.transition("Ready", "False").unwrap_or_else(|| self.started())
    }

    fn transition(&self, type_: &str, status: &str) -> Option<Timestamp> {
        let condition = self.condition(type_).filter(|condition| condition.status == status)?;
        Some(condition.last_transition_time.as_ref()?.0)
    }

    /// When the containers could begin: after the sandbox and all that the init containers did.
    fn wait_began(&self) -> Timestamp {
        let steps = self.init_statuses().iter().filter_map(step_ended);
        let conditions = [
            self.transition("PodReadyToStartContainers", "True"),
            self.transition("Initialized", "True"),
        ];
        let times = steps.chain(conditions.into_iter().flatten());
        times.fold(self.started(), Timestamp::max)
    }

    /// When this init container could begin: after the one before it.
    fn init_wait_began(&self, name: &str) -> Timestamp {
        let before = self.init_statuses().iter().take_while(|status| status.name != name);
        let sandbox = self.transition("PodReadyToStartContainers", "True");
        before
            .filter_map(step_ended)
            .chain(sandbox)
            .fold(self.started(), Timestamp::max)
    }

    /// When the last of its containers ended; of a Pod that never ran, when it was told to end.
    fn finished(&self) -> Timestamp {
        let ended =
            |status: &ContainerStatus| Some(status.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref()?.0);
        let all = self.statuses().iter().chain(self.init_statuses());
        all.filter_map(ended)
            .max()
            .or_else(|| self.transition("DisruptionTarget", "True"))
            .unwrap_or_else(|| self.started())
    }
}

/// Why a Pod failed.
struct Cause {
    reason: String,
    message: String,
}

fn nonzero_exit(status: &ContainerStatus) -> Option<Cause> {
    let ended = status.state.as_ref()?.terminated.as_ref()?;
    if ended.exit_code == 0 {
        return None;
    }
    let word = ended.reason.as_deref().filter(|reason| !reason.is_empty());
    let reason = word.map_or_else(|| format!("ExitCode{}", ended.exit_code), str::to_owned);
    let said = ended
        .message
        .as_deref()
        .map(|message| format!(": {}", message.trim()))
        .unwrap_or_default();
    Some(Cause {
        reason,
        message: format!(
            "container {} ended with exit code {}{said}",
            status.name, ended.exit_code
        ),
    })
}

/// When an init container was done: it ended, or (a native sidecar) it runs.
fn step_ended(status: &ContainerStatus) -> Option<Timestamp> {
    let state = status.state.as_ref()?;
    let ended = state.terminated.as_ref().and_then(|ended| ended.finished_at.as_ref());
    let running = state.running.as_ref().and_then(|running| running.started_at.as_ref());
    ended.or(running).map(|time| time.0)
}
