//! What is known of a Pod: as the cache shows it, or as one of our own writes made it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::{Owner, created};
use crate::api::meta;
use crate::core::health::{Graces, Health, Verdict, classify};
use crate::core::in_flight::Created;
use crate::core::names::{Ordinal, Revision, WorkloadSet};
use crate::core::plan::{PodPlan, Wanted};
use crate::core::settings::{Settings, later};

/// Whether a Pod counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// Neither terminating nor ended.
    Live,
    /// Phase Failed or Succeeded.
    Ended,
    /// Being deleted, and not ended yet.
    Terminating,
    /// Ended and being deleted: nothing of it runs, only its name is still taken.
    Gone,
}

/// What is known of a Pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// Its name.
    pub name: String,
    /// Its uid; empty for one whose create got no answer yet.
    pub uid: String,
    /// Whose it is.
    pub owner: Owner,
    /// Its place; `None` when its labels do not say.
    pub place: Option<(WorkloadSet, Ordinal)>,
    /// Its revision; `None` when its label does not say.
    pub revision: Option<Revision>,
    /// When it was created.
    pub created: Timestamp,
    /// Whether it counts.
    pub state: PodState,
    /// Whether it is Ready (and live).
    pub ready: bool,
    /// Since when it has been available; `None` when it is not.
    pub available_since: Option<Timestamp>,
    /// When it becomes available by time alone.
    pub available_at: Option<Timestamp>,
    /// Its phase; `Unknown` when it has none.
    pub phase: String,
    /// How it is.
    pub health: Health,
    /// How many failures in a row led to it.
    pub failures: u32,
    /// Names of the ConfigMaps that it mounts.
    pub config_maps: BTreeSet<String>,
}

impl PodFacts {
    /// Whether it is neither terminating nor ended.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self.state, PodState::Live)
    }

    /// Whether it is live and has been Ready for `minReadySeconds`.
    #[must_use]
    pub const fn is_available(&self) -> bool {
        self.is_live() && self.available_since.is_some()
    }
}

impl PodFacts {
    /// As it is once its deletion was sent.
    pub(super) fn delete(&mut self) {
        self.state = match self.state {
            PodState::Live | PodState::Terminating => PodState::Terminating,
            PodState::Ended | PodState::Gone => PodState::Gone,
        };
        self.ready = false;
        self.available_since = None;
        self.available_at = None;
        self.health.verdict = Verdict::Terminating;
        self.health.report = false;
        self.health.replace = false;
        self.health.wake = None;
    }
}

/// By what Pods are judged.
pub(super) struct Context {
    pub(super) graces: Graces,
    pub(super) min_ready: SignedDuration,
    pub(super) now: Timestamp,
}

impl Context {
    /// By what the Pods of a pipeline that wants this are judged at `now`.
    pub(super) fn new(wanted: Option<&Wanted>, settings: &Settings, now: Timestamp) -> Self {
        Self {
            graces: Graces {
                waiting: settings.waiting_grace,
                terminating: settings.terminating_grace,
                not_ready: wanted.map_or(settings.waiting_grace, |wanted| wanted.progress_deadline),
            },
            min_ready: wanted.map_or_else(Default::default, |wanted| wanted.min_ready),
            now,
        }
    }

    /// The same with another `minReadySeconds`.
    pub(super) const fn with_min_ready(mut self, min_ready: SignedDuration) -> Self {
        self.min_ready = min_ready;
        self
    }

    /// What is known of a Pod that the cache shows.
    pub(super) fn pod(&self, pod: &Pod, owner: Owner) -> PodFacts {
        let labels = pod.metadata.labels.as_ref();
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
        let health = classify(pod, self.now, &self.graces);
        let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
        let ended = matches!(phase.as_deref(), Some("Failed" | "Succeeded"));
        let state = match (ended, pod.metadata.deletion_timestamp.is_some()) {
            (true, true) => PodState::Gone,
            (false, true) => PodState::Terminating,
            (true, false) => PodState::Ended,
            (false, false) => PodState::Live,
        };
        let ready = state == PodState::Live && health.verdict == Verdict::Ready;
        let available = if ready {
            // By the node's clock, which may be ahead: what is Ready now has not been so only from later on.
            Some(later(ready_since(pod).min(self.now), self.min_ready))
        } else {
            None
        };
        let place = label(meta::LABEL_WORKLOAD_SET)
            .and_then(WorkloadSet::parse)
            .zip(label(meta::LABEL_ORDINAL).and_then(Ordinal::parse));
        let annotations = pod.metadata.annotations.as_ref();
        PodFacts {
            name: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            owner,
            place,
            revision: label(meta::LABEL_REVISION).and_then(Revision::parse),
            created: created(&pod.metadata),
            state,
            ready,
            available_since: available.filter(|since| *since <= self.now),
            available_at: available.filter(|since| *since > self.now),
            phase: phase.unwrap_or_else(|| "Unknown".to_owned()),
            health,
            failures: annotations
                .and_then(|annotations| annotations.get(meta::ANNOTATION_FAILURES)?.parse().ok())
                .unwrap_or(0),
            config_maps: mounted_config_maps(pod),
        }
    }
}

/// Since when a Ready Pod has been so: when its condition turned True.
fn ready_since(pod: &Pod) -> Timestamp {
    pod.status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "Ready")
        .and_then(|condition| condition.last_transition_time.as_ref())
        .map_or_else(|| created(&pod.metadata), |time| time.0)
}

fn mounted_config_maps(pod: &Pod) -> BTreeSet<String> {
    let volumes = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.volumes.as_deref())
        .unwrap_or_default();
    volumes
        .iter()
        .filter_map(|volume| volume.config_map.as_ref().map(|source| source.name.clone()))
        .collect()
}

/// A Pod of ours whose create the cache does not show yet.
pub(super) fn created_pod(created: &Created) -> PodFacts {
    planned_pod(&created.plan, created.uid.clone().unwrap_or_default(), created.at)
}

/// A Pod of ours that the cache does not show: there, and unavailable.
pub(super) fn planned_pod(plan: &PodPlan, uid: String, at: Timestamp) -> PodFacts {
    PodFacts {
        name: plan.name.to_string(),
        uid,
        owner: Owner::Ours,
        place: Some((plan.set, plan.name.ordinal)),
        revision: Some(plan.revision.clone()),
        created: at,
        state: PodState::Live,
        ready: false,
        available_since: None,
        available_at: None,
        phase: "Pending".to_owned(),
        health: Health::just_created(),
        failures: plan.failures,
        config_maps: BTreeSet::new(),
    }
}
