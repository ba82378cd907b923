//! What was seen of one pipeline: cached objects, sorted by whose they are and laid over with the own writes that the
//! cache does not show yet.
//!
//! Must never judge by name alone: whose an object is, its owner-uid label says.

pub mod legacy;
mod pods;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::{PodReplacementPolicy, meta};

use super::in_flight::Ledger;
use super::names::{PodName, Revision};
use super::plan::{Action, Outcome, Wanted};
use super::settings::Settings;

use pods::{Context, created_pod, planned_pod};

pub use legacy::{Claim, Legacy, LegacyConfigMap, LegacyDeployment, Rolling, Update};
pub use pods::{PodFacts, PodState};

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
    /// Names of Pods that begin with a base name of the pipeline: its own, its predecessors', and those of pipelines that
    /// exist (whose the names are is then judged for the pipelines as a whole). No new Pod gets one of them.
    pub names: BTreeSet<PodName>,
    /// Such names of Pods that nobody answers for: no pipeline has their owner-uid, and they do not name this one. What
    /// runs in them is not known, so their places are not filled beside them; but beside one that is being deleted, as
    /// `podReplacementPolicy` says.
    pub in_the_way: BTreeSet<PodName>,
    /// Another pipeline to which the names belong.
    pub collision: Option<String>,
    /// How the workload namespace is.
    pub namespace: NamespaceState,
    /// What is left of an earlier run: [`Observed::with_legacy`].
    pub legacy: Legacy,
}

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This pipeline's.
    Ours,
    /// That of a deleted pipeline of the same namespace and name.
    Predecessor,
    /// This pipeline's, in the namespace in which its Pods ran before.
    OldNamespace,
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
        let context = Context::new(wanted, settings, now);
        let mut observed = Self {
            pods: Vec::new(),
            config_maps: object_facts(&gathered.config_maps, whose),
            revisions: object_facts(&gathered.revisions, whose),
            names: BTreeSet::new(),
            in_the_way: BTreeSet::new(),
            collision: gathered.collision.clone(),
            namespace: gathered.namespace,
            legacy: Legacy::default(),
        };
        let runs_alone = wanted.is_some_and(|wanted| wanted.policy == PodReplacementPolicy::Failed);
        for pod in &gathered.pods {
            let owner = whose(&pod.metadata);
            // What the garbage collector removes after the pipeline that had the names before is on its way out.
            let leaves = pod.metadata.deletion_timestamp.is_some() && !runs_alone;
            let free = owner.is_some() || leaves || is_of_a_pipeline(&pod.metadata, &gathered.live_owners);
            observed.note_name(pod, free);
            observed.pods.extend(owner.map(|owner| context.pod(pod, owner)));
        }
        observed.add(ledger.unseen().map(created_pod));
        for pod in observed.pods.iter_mut().filter(|pod| ledger.is_deleted(&pod.uid)) {
            pod.delete();
        }
        observed
    }

    /// The same after what was done, as far as it succeeded.
    #[must_use]
    pub fn after(&self, outcome: &Outcome, now: Timestamp) -> Self {
        let mut after = self.clone();
        let mut made = Vec::new();
        let mut deleted = BTreeSet::new();
        let done = outcome.results.iter().filter(|(_, result)| result.succeeded());
        for (action, _) in done {
            match action {
                Action::CreatePod(plan) => made.push(planned_pod(plan, String::new(), now)),
                Action::DeletePod(delete) => {
                    deleted.insert(delete.uid.as_str());
                }
                other => after.note_legacy(other),
            }
        }
        // What is made here has no uid yet, so no deletion of this outcome is about it.
        for pod in after.pods.iter_mut().filter(|pod| deleted.contains(pod.uid.as_str())) {
            pod.delete();
        }
        after.add(made);
        after
    }

    /// The ControllerRevision of a revision, if it is stored and the pipeline's.
    #[must_use]
    pub fn stored(&self, revision: &Revision) -> Option<&ObjectFacts> {
        self.revisions.iter().find(|object| {
            object.owner == Owner::Ours && !object.deleting && object.revision.as_ref() == Some(revision)
        })
    }

    /// Notes the name of a Pod, and whether its place is free for another.
    fn note_name(&mut self, pod: &Pod, free: bool) {
        let name = pod.metadata.name.as_deref().and_then(PodName::parse);
        if free {
            self.names.extend(name);
        } else {
            self.in_the_way.extend(name);
        }
    }

    /// Adds Pods, but none whose name is there already, and sorts all by name.
    fn add(&mut self, pods: impl IntoIterator<Item = PodFacts>) {
        let known = self.pods.len();
        self.pods.extend(pods);
        let added = self.pods.iter().skip(known);
        self.names.extend(added.filter_map(|pod| PodName::parse(&pod.name)));
        // The sort is stable: of two of one name the one that was there first stays.
        self.pods.sort_by(|a, b| a.name.cmp(&b.name));
        self.pods.dedup_by(|later, first| later.name == first.name);
    }
}

/// Whose an object is: ours by its owner-uid; a predecessor's when its annotations name this pipeline and no pipeline
/// has its owner-uid any more.
fn owner_of(pipeline: &PipelineFacts, metadata: &ObjectMeta, live_owners: &BTreeSet<String>) -> Option<Owner> {
    let uid = meta::owner_uid(metadata.labels.as_ref())?;
    if *uid == pipeline.uid {
        return Some(Owner::Ours);
    }
    let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key));
    let names_us = annotation(meta::ANNOTATION_OWNER_NAME) == Some(&pipeline.name)
        && annotation(meta::ANNOTATION_OWNER_NAMESPACE) == Some(&pipeline.namespace);
    (names_us && !live_owners.contains(uid)).then_some(Owner::Predecessor)
}

/// Whether the object carries the uid of another pipeline that exists.
fn is_of_a_pipeline(metadata: &ObjectMeta, live_owners: &BTreeSet<String>) -> bool {
    let uid = meta::owner_uid(metadata.labels.as_ref());
    uid.is_some_and(|uid| live_owners.contains(uid))
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

fn created(metadata: &ObjectMeta) -> Timestamp {
    metadata
        .creation_timestamp
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

#[cfg(test)]
mod tests;
