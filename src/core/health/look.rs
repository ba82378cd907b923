//! The rows of [`classify`](super::classify), each a look at one part of the Pod.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodCondition, PodStatus};

use crate::core::settings::later;

use super::cause::{Cause, first_error, is_disruption, is_restarted};
use super::{Graces, Health, Remedy, Verdict, WaitingReason};

/// Where every consumer finds its config; by this mount the consumer is told from its sidecars.
const CONSUMER_MOUNT: &str = "/etc/pipeline-config";

/// A Pod as it is looked at.
pub(super) struct Look<'a> {
    pub(super) pod: &'a Pod,
    pub(super) status: Option<&'a PodStatus>,
    pub(super) now: Timestamp,
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
        let said = status.reason.as_deref().filter(|reason| !reason.is_empty());
        if let Some(reason) = said {
            return Some(self.failed(reason, status.message.clone()));
        }
        let cause = self.failed_init_container(true).or_else(|| self.failed_container(true));
        let failed = cause.map(|cause| self.failed_by(cause));
        Some(failed.unwrap_or_else(|| self.failed(phase, status.message.clone())))
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
            let cause = self.failed_init_container(false)?;
            Some(self.failed_by(cause))
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
            let cause = self.failed_container(false).or_else(|| self.finished_consumer())?;
            Some(self.failed_by(cause))
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

    fn failed(&self, reason: &str, message: Option<String>) -> Health {
        let targeted = self
            .condition("DisruptionTarget")
            .is_some_and(|condition| condition.status == "True");
        Health {
            report: true,
            replace: true,
            disruption: targeted || is_disruption(reason, message.as_deref()),
            message,
            failed_at: Some(self.finished()),
            ..Health::of(Verdict::Failed(reason.to_owned()))
        }
    }

    fn failed_by(&self, cause: Cause) -> Health {
        let health = self.failed(&cause.reason, Some(cause.message));
        Health {
            disruption: health.disruption || cause.lost,
            ..health
        }
    }

    fn failed_init_container(&self, over: bool) -> Option<Cause> {
        let cause = first_error(self.init_statuses(), self.init_specs(), over)?;
        Some(Cause {
            reason: format!("InitContainer{}", cause.reason),
            ..cause
        })
    }

    fn failed_container(&self, over: bool) -> Option<Cause> {
        first_error(self.statuses(), self.specs(), over)
    }

    /// A consumer runs for ever; one that ended without an error is as missing as one that failed.
    fn finished_consumer(&self) -> Option<Cause> {
        let consumer = self.consumer()?;
        let status = self.statuses().iter().find(|status| status.name == consumer.name)?;
        let ended = status.state.as_ref()?.terminated.as_ref()?;
        (!is_restarted(&consumer.name, ended.exit_code, self.specs())).then(|| Cause {
            reason: "Succeeded".to_owned(),
            message: format!("container {} ended with exit code 0", consumer.name),
            lost: false,
        })
    }

    pub(super) fn consumer(&self) -> Option<&Container> {
        self.specs().iter().find(|container| {
            let mounts = container.volume_mounts.as_deref().unwrap_or_default();
            mounts.iter().any(|mount| mount.mount_path == CONSUMER_MOUNT)
        })
    }

    pub(super) fn statuses(&self) -> &'a [ContainerStatus] {
        self.status
            .and_then(|status| status.container_statuses.as_deref())
            .unwrap_or_default()
    }

    pub(super) fn init_statuses(&self) -> &'a [ContainerStatus] {
        self.status
            .and_then(|status| status.init_container_statuses.as_deref())
            .unwrap_or_default()
    }

    fn specs(&self) -> &'a [Container] {
        let spec = self.pod.spec.as_ref();
        spec.map(|spec| spec.containers.as_slice()).unwrap_or_default()
    }

    fn init_specs(&self) -> &'a [Container] {
        let spec = self.pod.spec.as_ref();
        spec.and_then(|spec| spec.init_containers.as_deref())
            .unwrap_or_default()
    }

    pub(super) fn condition(&self, type_: &str) -> Option<&'a PodCondition> {
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
}
