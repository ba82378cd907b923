//! A cluster in memory: an API server that holds Pods, ConfigMaps and ControllerRevisions, a kubelet that moves the
//! Pods as their revision lets them, and a watch that lags, doubles events and breaks.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use streaming_operator::api::meta;
use streaming_operator::core::in_flight::Ledger;
use streaming_operator::core::plan::PodPlan;

use crate::legacy::LegacyWorld;
use crate::rng::Rng;

/// Owner of the Pods that are none of the pipeline's, and live.
pub(crate) const ANOTHER: &str = "uid-of-another";

/// What Pods of a revision do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// They become Ready.
    Good,
    /// Their consumer ends with an error soon after its start.
    Crashing,
    /// Their image cannot be pulled.
    NoImage,
    /// They run and never become Ready.
    NeverReady,
}

/// By the first digit of a revision: a, b and c work.
pub(crate) fn quality(revision: &str) -> Quality {
    match revision.chars().next() {
        Some('d') => Quality::Crashing,
        Some('e') => Quality::NoImage,
        Some('f') => Quality::NeverReady,
        _ => Quality::Good,
    }
}

/// What the kubelet has made of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Pending,
    Unschedulable { since: Timestamp },
    PullError { since: Timestamp },
    Running { since: Timestamp },
    Ready { since: Timestamp },
    Failed { at: Timestamp, disruption: bool },
}

/// A Pod as the API server holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SimPod {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) owner: String,
    pub(crate) set: String,
    pub(crate) ordinal: String,
    pub(crate) generation: String,
    pub(crate) revision: String,
    pub(crate) failures: u32,
    pub(crate) created: Timestamp,
    pub(crate) deleted: Option<Timestamp>,
    pub(crate) stage: Stage,
    /// Its node is away: it stays as it is.
    pub(crate) stuck: bool,
}

impl SimPod {
    /// A Pod of someone else that runs under this name.
    pub(crate) fn of_another(name: &str, uid: String, now: Timestamp) -> Self {
        Self {
            name: name.to_owned(),
            uid,
            owner: ANOTHER.to_owned(),
            set: "primary".to_owned(),
            ordinal: "0".to_owned(),
            generation: "0".to_owned(),
            revision: "0000000000".to_owned(),
            failures: 0,
            created: now,
            deleted: None,
            stage: Stage::Ready { since: now },
            stuck: false,
        }
    }

    pub(crate) const fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Failed { .. })
    }
    pub(crate) const fn is_live(&self) -> bool {
        self.deleted.is_none() && !self.is_ended()
    }
    pub(crate) fn is_ready(&self) -> bool {
        self.is_live() && matches!(self.stage, Stage::Ready { .. })
    }
    pub(crate) fn place(&self) -> (String, String) {
        (self.set.clone(), self.ordinal.clone())
    }

    /// As the API server would hand it out.
    pub(crate) fn object(&self) -> Pod {
        let labels = [
            (meta::LABEL_MANAGED_BY, meta::MANAGED_BY_VALUE),
            (meta::LABEL_OWNER_UID, &self.owner),
            (meta::LABEL_WORKLOAD_SET, &self.set),
            (meta::LABEL_ORDINAL, &self.ordinal),
            (meta::LABEL_GENERATION, &self.generation),
            (meta::LABEL_REVISION, &self.revision),
        ];
        let failures = self.failures.to_string();
        let annotations = [
            (meta::ANNOTATION_FAILURES, failures.as_str()),
            (meta::ANNOTATION_OWNER_NAME, "pipeline"),
            (meta::ANNOTATION_OWNER_NAMESPACE, "ns"),
        ];
        Pod {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some("ns".to_owned()),
                uid: Some(self.uid.clone()),
                creation_timestamp: Some(Time(self.created)),
                deletion_timestamp: self.deleted.map(Time),
                labels: Some(strings(&labels)),
                annotations: Some(strings(&annotations)),
                ..ObjectMeta::default()
            },
            spec: None,
            status: Some(self.status()),
        }
    }

    fn status(&self) -> PodStatus {
        let ready = |holds: bool, since: Timestamp| PodCondition {
            type_: "Ready".to_owned(),
            status: if holds { "True" } else { "False" }.to_owned(),
            last_transition_time: Some(Time(since)),
            ..PodCondition::default()
        };
        let container = |state: ContainerState| ContainerStatus {
            name: "consumer".to_owned(),
            state: Some(state),
            ..ContainerStatus::default()
        };
        let (phase, condition, state) = match self.stage {
            Stage::Pending => ("Pending", None, None),
            Stage::Unschedulable { since } => ("Pending", Some(unschedulable(since)), None),
            Stage::PullError { .. } => ("Pending", None, Some(waiting("ImagePullBackOff"))),
            Stage::Running { since } => ("Running", Some(ready(false, since)), None),
            Stage::Ready { since } => ("Running", Some(ready(true, since)), None),
            Stage::Failed { at, disruption } => {
                let target = PodCondition {
                    type_: "DisruptionTarget".to_owned(),
                    status: "True".to_owned(),
                    ..PodCondition::default()
                };
                ("Failed", disruption.then_some(target), Some(terminated(at)))
            }
        };
        let since = match self.stage {
            Stage::PullError { since } => since,
            _ => self.created,
        };
        PodStatus {
            phase: Some(phase.to_owned()),
            start_time: Some(Time(since)),
            conditions: Some(condition.into_iter().collect()),
            container_statuses: Some(state.map(container).into_iter().collect()),
            ..PodStatus::default()
        }
    }
}

fn unschedulable(since: Timestamp) -> PodCondition {
    PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some("Unschedulable".to_owned()),
        message: Some("0/3 nodes are available".to_owned()),
        last_transition_time: Some(Time(since)),
        ..PodCondition::default()
    }
}

fn waiting(reason: &str) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message: Some("not found".to_owned()),
        }),
        ..ContainerState::default()
    }
}

fn terminated(at: Timestamp) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code: 1,
            reason: Some("Error".to_owned()),
            finished_at: Some(Time(at)),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

pub(crate) fn strings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// What the watch tells.
#[derive(Clone, Debug)]
enum Event {
    Applied(SimPod),
    Deleted(SimPod),
}

/// The API server, the kubelet and the watch.
pub(crate) struct Cluster {
    pub(crate) now: Timestamp,
    pub(crate) pods: BTreeMap<String, SimPod>,
    pub(crate) config_maps: BTreeMap<String, ObjectMeta>,
    pub(crate) revisions: BTreeMap<String, ObjectMeta>,
    /// What the Python operator left; each pass reads it anew.
    pub(crate) legacy: LegacyWorld,
    /// What the operator's cache shows.
    pub(crate) cache: BTreeMap<String, SimPod>,
    events: VecDeque<Event>,
    list: Option<BTreeMap<String, SimPod>>,
    uids: u64,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self {
            now: Timestamp::from_second(1_800_000_000).expect("a time"),
            pods: BTreeMap::new(),
            config_maps: BTreeMap::new(),
            revisions: BTreeMap::new(),
            legacy: LegacyWorld::default(),
            cache: BTreeMap::new(),
            events: VecDeque::new(),
            list: None,
            uids: 0,
        }
    }

    pub(crate) fn new_uid(&mut self) -> String {
        self.uids += 1;
        format!("uid-{:06}", self.uids)
    }

    pub(crate) fn pass_time(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// A create of the operator: the uid of the new Pod, or of the one that has the name.
    pub(crate) fn create(&mut self, plan: &PodPlan, owner: &str) -> Result<String, Box<SimPod>> {
        let name = plan.name.to_string();
        if let Some(there) = self.pods.get(&name) {
            return Err(Box::new(there.clone()));
        }
        let uid = self.new_uid();
        self.put(SimPod {
            name,
            uid: uid.clone(),
            owner: owner.to_owned(),
            set: plan.set.to_string(),
            ordinal: plan.name.ordinal.to_string(),
            generation: plan.name.generation.to_string(),
            revision: plan.revision.to_string(),
            failures: plan.failures,
            created: self.now,
            deleted: None,
            stage: Stage::Pending,
            stuck: false,
        });
        Ok(uid)
    }

    /// Writes a Pod, and tells the watch.
    pub(crate) fn put(&mut self, pod: SimPod) {
        self.events.push_back(Event::Applied(pod.clone()));
        self.pods.insert(pod.name.clone(), pod);
    }

    /// A delete with the uid as precondition: one that has ended, or is forced, goes at once.
    pub(crate) fn delete(&mut self, name: &str, uid: &str, force: bool) {
        let Some(mut pod) = self.pods.get(name).filter(|pod| pod.uid == uid).cloned() else {
            return;
        };
        if pod.is_ended() || force {
            self.remove(name);
        } else if pod.deleted.is_none() {
            pod.deleted = Some(self.now + SignedDuration::from_secs(30));
            self.put(pod);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(pod) = self.pods.remove(name) {
            self.events.push_back(Event::Deleted(pod));
        }
    }

    /// The kubelet moves one Pod a step. Whether anything changed.
    pub(crate) fn kubelet(&mut self, name: &str) -> bool {
        let Some(mut pod) = self.pods.get(name).cloned() else {
            return false;
        };
        if pod.owner == ANOTHER || pod.stuck {
            return false;
        }
        if pod.deleted.is_some() {
            self.remove(name);
            return true;
        }
        let since = self.now;
        let next = match (pod.stage, quality(&pod.revision)) {
            (Stage::Pending, Quality::NoImage) => Stage::PullError { since },
            (Stage::Pending, _) => Stage::Running { since },
            (Stage::Running { .. }, Quality::Good) => Stage::Ready { since },
            (Stage::Running { .. }, Quality::Crashing) => Stage::Failed {
                at: since,
                disruption: false,
            },
            _ => return false,
        };
        pod.stage = next;
        self.put(pod);
        true
    }

    /// Number of events on their way.
    pub(crate) fn behind(&self) -> usize {
        self.events.len()
    }

    /// Whether the cache shows everything.
    pub(crate) fn is_shown(&self) -> bool {
        self.events.is_empty() && self.list.is_none()
    }

    /// Tells the operator's cache the next event, sometimes twice. How often; 0 when there was none.
    pub(crate) fn deliver(&mut self, ledger: &mut Ledger, rng: &mut Rng) -> usize {
        if self.list.is_some() {
            self.end_list(ledger);
            return 1;
        }
        let Some(event) = self.events.pop_front() else {
            return 0;
        };
        let times = if rng.chance(5) { 2 } else { 1 };
        for _ in 0..times {
            match &event {
                Event::Applied(pod) => {
                    ledger.saw_applied(&pod.name, &pod.uid, pod.deleted.is_some());
                    self.cache.insert(pod.name.clone(), pod.clone());
                }
                Event::Deleted(pod) => {
                    ledger.saw_deleted(&pod.name, &pod.uid);
                    if self.cache.get(&pod.name).is_some_and(|cached| cached.uid == pod.uid) {
                        self.cache.remove(&pod.name);
                    }
                }
            }
        }
        times
    }

    /// The watch breaks: events on their way are lost, and a new list begins.
    pub(crate) fn begin_list(&mut self, ledger: &mut Ledger) {
        self.events.clear();
        ledger.list_began();
        self.list = Some(self.pods.clone());
    }

    /// The list is in the cache.
    fn end_list(&mut self, ledger: &mut Ledger) {
        let Some(list) = self.list.take() else { return };
        for pod in list.values() {
            ledger.saw_applied(&pod.name, &pod.uid, pod.deleted.is_some());
        }
        self.cache = list;
        ledger.list_ended();
    }

    /// The operator starts anew: nothing is remembered, and a consistent list is in the cache.
    pub(crate) fn restart(&mut self, ledger: &mut Ledger) {
        *ledger = Ledger::default();
        self.begin_list(ledger);
        self.end_list(ledger);
    }
}
