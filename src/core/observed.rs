//! What was seen of one pipeline: cached objects, sorted by whose they are and laid over with the own writes that the
//! cache does not show yet.
//!
//! Must never judge by name alone: whose an object is, its owner-uid label says.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::meta;

use super::health::{Graces, Health, Verdict, classify};
use super::in_flight::{Created, Ledger};
use super::names::{Generation, Ordinal, PodName, Revision, WorkloadSet};
use super::plan::{Action, Outcome, PodPlan, Wanted};
use super::settings::{Settings, later};

/// The pipeline that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the operator's finalizer is on it.
    pub has_finalizer: bool,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Namespace in which its Pods run.
    pub workload_namespace: String,
}

impl PipelineFacts {
    /// Of a pipeline's metadata; its Pods run in `workload_namespace`. `None` while it has no uid (it was never stored).
    #[must_use]
    pub fn read(metadata: &ObjectMeta, workload_namespace: &str) -> Option<Self> {
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        Some(Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone()?,
            uid: metadata.uid.clone()?,
            generation: metadata.generation,
            deleting: metadata.deletion_timestamp.is_some(),
            has_finalizer: finalizers.iter().any(|finalizer| finalizer == meta::FINALIZER),
            annotations: metadata.annotations.clone().unwrap_or_default(),
            workload_namespace: workload_namespace.to_owned(),
        })
    }

    /// Whether its Pods run in another namespace, where no ownerReference can point back.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.namespace != self.workload_namespace
    }
}

/// What the shell collected, before it is sorted.
#[derive(Debug)]
pub struct Gathered<'a> {
    /// Pods of the workload namespace with our managed-by label that carry the pipeline's owner-uid or have a name that
    /// begins with one of its base names.
    pub pods: Vec<&'a Pod>,
    /// Metadata of the ConfigMaps of the workload namespace with our managed-by label that carry the pipeline's
    /// owner-uid or whose annotations name the pipeline.
    pub config_maps: Vec<&'a ObjectMeta>,
    /// The same for ControllerRevisions, of the pipeline's own namespace.
    pub revisions: Vec<&'a ObjectMeta>,
    /// Of the other owner-uids on these objects, those whose pipeline exists.
    pub live_owners: BTreeSet<String>,
    /// Another pipeline to which the names of this one belong, in words (`ns/name`); nothing is created or deleted then.
    pub collision: Option<String>,
    /// How the workload namespace is.
    pub namespace: NamespaceState,
}

/// How the workload namespace is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamespaceState {
    /// There.
    #[default]
    Active,
    /// Being deleted: nothing can be created, and everything goes by itself.
    Terminating,
    /// Not there.
    Missing,
}

/// What was seen of one pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Its Pods, and those of deleted pipelines of its name, by name.
    pub pods: Vec<PodFacts>,
    /// ConfigMaps of the same.
    pub config_maps: Vec<ObjectFacts>,
    /// ControllerRevisions of the same.
    pub revisions: Vec<ObjectFacts>,
    /// Names of all Pods that begin with a base name of the pipeline, whoever's they are: no new Pod gets one of them.
    pub names: BTreeSet<PodName>,
    /// Another pipeline to which the names belong.
    pub collision: Option<String>,
    /// How the workload namespace is.
    pub namespace: NamespaceState,
}

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This pipeline's.
    Ours,
    /// That of a deleted pipeline of the same namespace and name.
    Predecessor,
}

/// What is known of a ConfigMap or a ControllerRevision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFacts {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whose it is.
    pub owner: Owner,
    /// The revision in its label.
    pub revision: Option<Revision>,
    /// When it was created.
    pub created: Timestamp,
    /// ControllerRevisions: when the revision last completed.
    pub completed: Option<Timestamp>,
    /// ControllerRevisions: name of the ConfigMap that Pods of the revision mount.
    pub config_map: Option<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
}

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

impl Observed {
    /// Sorts what was gathered. Objects that are neither the pipeline's nor its predecessor's are left out, but for
    /// their names.
    #[must_use]
    pub fn new(
        pipeline: &PipelineFacts,
        wanted: Option<&Wanted>,
        gathered: &Gathered<'_>,
        ledger: &Ledger,
        settings: &Settings,
        now: Timestamp,
    ) -> Self {
        let whose = |metadata: &ObjectMeta| owner_of(pipeline, metadata, &gathered.live_owners);
        let context = Context {
            graces: Graces {
                waiting: settings.waiting_grace,
                terminating: settings.terminating_grace,
                not_ready: wanted.map_or(settings.waiting_grace, |wanted| wanted.progress_deadline),
            },
            min_ready: wanted.map_or_else(Default::default, |wanted| wanted.min_ready),
            now,
        };
        let mut observed = Self {
            pods: Vec::new(),
            config_maps: object_facts(&gathered.config_maps, whose),
            revisions: object_facts(&gathered.revisions, whose),
            names: gathered
                .pods
                .iter()
                .filter_map(|pod| PodName::parse(pod.metadata.name.as_deref()?))
                .collect(),
            collision: gathered.collision.clone(),
            namespace: gathered.namespace,
        };
        for pod in &gathered.pods {
            if let Some(owner) = whose(&pod.metadata) {
                observed.pods.push(context.pod(pod, owner));
            }
        }
        for created in ledger.unseen() {
            observed.add(created_pod(created));
        }
        for pod in observed.pods.iter_mut().filter(|pod| ledger.is_deleted(&pod.uid)) {
            pod.delete();
        }
        observed.pods.sort_by(|a, b| a.name.cmp(&b.name));
        observed
    }

    /// The same after what was done, as far as it succeeded.
    #[must_use]
    pub fn after(&self, outcome: &Outcome, now: Timestamp) -> Self {
        let mut after = self.clone();
        for (action, result) in &outcome.results {
            match action {
                Action::CreatePod(plan) if result.succeeded() => after.add(planned_pod(plan, String::new(), now)),
                Action::DeletePod(delete) if result.succeeded() => {
                    for pod in after.pods.iter_mut().filter(|pod| pod.uid == delete.uid) {
                        pod.delete();
                    }
                }
                _ => {}
            }
        }
        after.pods.sort_by(|a, b| a.name.cmp(&b.name));
        after
    }

    /// The ControllerRevision of a revision, if it is stored and the pipeline's.
    #[must_use]
    pub fn stored(&self, revision: &Revision) -> Option<&ObjectFacts> {
        self.revisions.iter().find(|object| {
            object.owner == Owner::Ours && !object.deleting && object.revision.as_ref() == Some(revision)
        })
    }

    fn add(&mut self, pod: PodFacts) {
        if self.pods.iter().all(|other| other.name != pod.name) {
            self.names.extend(PodName::parse(&pod.name));
            self.pods.push(pod);
        }
    }
}

impl PodFacts {
    /// As it is once its deletion was sent.
    fn delete(&mut self) {
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

struct Context {
    graces: Graces,
    min_ready: jiff::SignedDuration,
    now: Timestamp,
}

impl Context {
    fn pod(&self, pod: &Pod, owner: Owner) -> PodFacts {
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
            Some(later(ready_since(pod), self.min_ready))
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

fn created(metadata: &ObjectMeta) -> Timestamp {
    metadata
        .creation_timestamp
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
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

/// Whose an object is: ours by its owner-uid; a predecessor's when its annotations name this pipeline and no pipeline
/// has its owner-uid any more.
fn owner_of(pipeline: &PipelineFacts, metadata: &ObjectMeta, live_owners: &BTreeSet<String>) -> Option<Owner> {
    let uid = metadata.labels.as_ref()?.get(meta::LABEL_OWNER_UID)?;
    if *uid == pipeline.uid {
        return Some(Owner::Ours);
    }
    let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key));
    let names_us = annotation(meta::ANNOTATION_OWNER_NAME) == Some(&pipeline.name)
        && annotation(meta::ANNOTATION_OWNER_NAMESPACE) == Some(&pipeline.namespace);
    (names_us && !live_owners.contains(uid)).then_some(Owner::Predecessor)
}

fn object_facts(objects: &[&ObjectMeta], whose: impl Fn(&ObjectMeta) -> Option<Owner>) -> Vec<ObjectFacts> {
    let mut facts: Vec<_> = objects
        .iter()
        .filter_map(|metadata| {
            let label = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key));
            let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key));
            Some(ObjectFacts {
                name: metadata.name.clone()?,
                uid: metadata.uid.clone()?,
                owner: whose(metadata)?,
                revision: label(meta::LABEL_REVISION).and_then(|text| Revision::parse(text)),
                created: created(metadata),
                completed: annotation(meta::ANNOTATION_COMPLETED_AT).and_then(|text| text.parse().ok()),
                config_map: annotation(meta::ANNOTATION_CONFIG_MAP).cloned(),
                deleting: metadata.deletion_timestamp.is_some(),
            })
        })
        .collect();
    facts.sort_by(|a, b| a.name.cmp(&b.name));
    facts
}

fn created_pod(created: &Created) -> PodFacts {
    planned_pod(&created.plan, created.uid.clone().unwrap_or_default(), created.at)
}

/// A Pod of ours that the cache does not show: there, and unavailable.
fn planned_pod(plan: &PodPlan, uid: String, at: Timestamp) -> PodFacts {
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

/// The highest generation of the Pods of one place, by name.
#[must_use]
pub fn highest_generation(names: &BTreeSet<PodName>, base: &str, ordinal: Ordinal) -> Option<Generation> {
    names
        .iter()
        .filter(|name| name.base.as_str() == base && name.ordinal == ordinal)
        .map(|name| name.generation)
        .max()
}
