//! Since when a Pod is as it is.
//!
//! All times within a status are those of the node's clock, which may be off; `creationTimestamp` and
//! `deletionTimestamp` are the API server's. Must never let a wrong clock turn a grace or a back-off to nothing, nor
//! hold a replacement back.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ContainerStatus;

use super::look::Look;

impl Look<'_> {
    /// How long the consumer ran, or has been running. A Pod whose consumer cannot be told counts as its longest
    /// running container.
    pub(super) fn ran(&self) -> SignedDuration {
        let all = self.statuses();
        let consumer = self.consumer();
        let of = |status: &ContainerStatus| {
            let state = status.state.as_ref()?;
            match (&state.running, &state.terminated) {
                (Some(running), _) => {
                    let from = self.begun(running.started_at.as_ref()?.0);
                    Some(self.now.duration_since(from))
                }
                // Both of one clock: however wrong it is, the difference is right.
                (None, Some(ended)) => {
                    let from = ended.started_at.as_ref()?.0;
                    Some(ended.finished_at.as_ref()?.0.duration_since(from))
                }
                (None, None) => None,
            }
        };
        all.iter()
            .filter(|status| consumer.is_none_or(|consumer| consumer.name == status.name))
            .filter_map(of)
            .max()
            .unwrap_or_default()
            .max(SignedDuration::ZERO)
    }

    /// When the Pod was created, by the API server's clock.
    fn created(&self) -> Timestamp {
        let created = self.pod.metadata.creation_timestamp.as_ref();
        created.map_or(self.now, |time| time.0)
    }

    /// When something began that goes on, of which the node says that it began then: not before the Pod was there, and
    /// not later than now. A node whose clock is ahead so makes a grace longer, by as much at most; one that is behind
    /// does not make it shorter.
    fn begun(&self, said: Timestamp) -> Timestamp {
        said.min(self.now).max(self.created())
    }

    /// When something ended, of which the node says that it ended then. One in the future would hold a replacement back
    /// for as long as the clock is ahead, one before the Pod was created would leave no back-off: both count as ended
    /// when it was created.
    fn ended_at(&self, said: Timestamp) -> Timestamp {
        let created = self.created();
        if said < created || said > self.now {
            created
        } else {
            said
        }
    }

    /// When the kubelet took the Pod, or else when it was created.
    pub(super) fn started(&self) -> Timestamp {
        let started = self.status.and_then(|status| status.start_time.as_ref());
        started.map_or_else(|| self.created(), |time| self.begun(time.0))
    }

    pub(super) fn not_ready_since(&self) -> Timestamp {
        let since = self.transition("Ready", "False");
        since.map_or_else(|| self.started(), |since| self.begun(since))
    }

    fn transition(&self, type_: &str, status: &str) -> Option<Timestamp> {
        let condition = self.condition(type_).filter(|condition| condition.status == status)?;
        Some(condition.last_transition_time.as_ref()?.0)
    }

    /// When the containers could begin: after the sandbox and all that the init containers did.
    pub(super) fn wait_began(&self) -> Timestamp {
        let steps = self.init_statuses().iter().filter_map(step_ended);
        let conditions = [
            self.transition("PodReadyToStartContainers", "True"),
            self.transition("Initialized", "True"),
        ];
        let times = steps.chain(conditions.into_iter().flatten());
        times.map(|time| self.begun(time)).fold(self.started(), Timestamp::max)
    }

    /// When this init container could begin: after the one before it.
    pub(super) fn init_wait_began(&self, name: &str) -> Timestamp {
        let before = self.init_statuses().iter().take_while(|status| status.name != name);
        let sandbox = self.transition("PodReadyToStartContainers", "True");
        before
            .filter_map(step_ended)
            .chain(sandbox)
            .map(|time| self.begun(time))
            .fold(self.started(), Timestamp::max)
    }

    /// When the last of its containers ended. Where none says so (it never ran, or the node lost it): when it was told
    /// to end, or stopped being Ready.
    pub(super) fn finished(&self) -> Timestamp {
        let ended =
            |status: &ContainerStatus| Some(status.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref()?.0);
        let all = self.statuses().iter().chain(self.init_statuses());
        all.filter_map(ended)
            .max()
            .or_else(|| self.transition("DisruptionTarget", "True"))
            .or_else(|| self.transition("Ready", "False"))
            .map_or_else(|| self.started(), |said| self.ended_at(said))
    }
}

/// When an init container was done: it ended, or (a native sidecar) it runs.
fn step_ended(status: &ContainerStatus) -> Option<Timestamp> {
    let state = status.state.as_ref()?;
    let ended = state.terminated.as_ref().and_then(|ended| ended.finished_at.as_ref());
    let running = state.running.as_ref().and_then(|running| running.started_at.as_ref());
    ended.or(running).map(|time| time.0)
}
