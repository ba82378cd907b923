//! What is left of an earlier run of a pipeline: Deployments and ConfigMaps of the Python operator, and the namespace in
//! which the Pods ran before, where that is another than now.
//!
//! All of it is read from the API server in the pass that judges it, so there are no own writes to be laid over it. Must
//! never take a Pod for a Deployment's because a selector matches it: the Python operator gave the Deployments of two
//! segments the same selector.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::pods::Context;
use super::{Observed, Owner, PipelineFacts, PodState, created};
use crate::api::meta;
use crate::core::names::WorkloadSet;
use crate::core::plan::{Action, Wanted};
use crate::core::settings::Settings;

/// Label by which the Deployment controller tells the ReplicaSets of a Deployment apart; it is a part of their names.
const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// Label of the Python operator that says to which set a Deployment belongs.
const LEGACY_SET: &str = "env";

/// What is left of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
    /// Where the pipeline ran before, while that is another namespace than the one in use and something may be left
    /// there.
    pub old_namespace: Option<String>,
    /// Deployments of the Python operator, that of the canary first.
    pub deployments: Vec<LegacyDeployment>,
    /// ConfigMaps of the Python operator, and those of the old namespace. Only asked for when no Deployment has Pods any
    /// more.
    pub config_maps: Vec<LegacyConfigMap>,
    /// Whether finalizers or annotations of the Python operator are on the pipeline.
    pub has_marks: bool,
    /// Why it is not known what is left, or why it could not be removed: the right that is missing.
    pub unreadable: Option<String>,
}

/// A Deployment of the Python operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyDeployment {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid, the precondition of its deletion.
    pub uid: String,
    /// Its resourceVersion, the precondition of a change of its number.
    pub resource_version: String,
    /// The Pods it is to have (`spec.replicas`); 0 once it is being deleted.
    pub given: usize,
    /// The number that was last written to it here; `None` when none was.
    pub wrote: Option<usize>,
    /// Whether another manager has applied the owner's labels since then.
    pub relabelled: bool,
    /// When it was created.
    pub created: Timestamp,
    /// The set of its Pods.
    pub set: WorkloadSet,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its Pods that have been Ready for `minReadySeconds`.
    pub available: usize,
    /// Its other Pods that are neither terminating nor ended.
    pub unavailable: usize,
    /// Its Pods that are being deleted.
    pub terminating: usize,
    /// When the next of its Pods becomes available by time alone.
    pub available_at: Option<Timestamp>,
}

/// A ConfigMap that is not mounted by Pods of this operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyConfigMap {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid, the precondition of its deletion.
    pub uid: String,
    /// Another pipeline whose Deployment mounts it: the Python operator gave one ConfigMap to all segments of a pipeline.
    pub used_by: Option<String>,
}

impl LegacyDeployment {
    /// Of a Deployment and Pods of its namespace among which all of its own are. Available Pods have been Ready for
    /// `min_ready`. `None` when it was never stored.
    #[must_use]
    pub fn read(deployment: &Deployment, pods: &[Pod], min_ready: SignedDuration, now: Timestamp) -> Option<Self> {
        let metadata = &deployment.metadata;
        let name = metadata.name.clone()?;
        let deleting = metadata.deletion_timestamp.is_some();
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let annotations = metadata.annotations.as_ref();
        let wrote = annotations.and_then(|all| all.get(meta::ANNOTATION_LEGACY_REPLICAS)?.trim().parse().ok());
        let set = metadata.labels.as_ref().and_then(|labels| labels.get(LEGACY_SET));
        let mut facts = Self {
            namespace: metadata.namespace.clone()?,
            uid: metadata.uid.clone()?,
            resource_version: metadata.resource_version.clone()?,
            given: if deleting {
                0
            } else {
                usize::try_from(replicas).unwrap_or_default()
            },
            wrote,
            relabelled: is_relabelled(metadata),
            created: created(metadata),
            set: set
                .and_then(|set| WorkloadSet::parse(set))
                .unwrap_or(WorkloadSet::Primary),
            deleting,
            available: 0,
            unavailable: 0,
            terminating: 0,
            available_at: None,
            name,
        };
        let settings = Settings::default();
        let context = Context::new(None, &settings, now).with_min_ready(min_ready);
        let own: Vec<&Pod> = pods.iter().filter(|pod| facts.owns(pod)).collect();
        for pod in own {
            facts.count(&context, pod);
        }
        Some(facts)
    }

    /// Its Pods that are neither terminating nor ended.
    #[must_use]
    pub const fn shown(&self) -> usize {
        self.available + self.unavailable
    }

    /// Consumers that run or are to run in it.
    #[must_use]
    pub fn live(&self) -> usize {
        self.given.max(self.shown())
    }

    /// Whether it has no Pods and is to have none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.given == 0 && self.shown() == 0 && self.terminating == 0
    }

    /// In words, as kubectl takes it.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("Deployment {}/{}", self.namespace, self.name)
    }

    /// Whether a Pod is of one of its ReplicaSets. Those are named after it and after the digest that the Pod has as a
    /// label (k8s.io/kubernetes pkg/controller/deployment: `d.Name + "-" + podTemplateSpecHash`).
    fn owns(&self, pod: &Pod) -> bool {
        let labels = pod.metadata.labels.as_ref();
        let Some(hash) = labels.and_then(|labels| labels.get(POD_TEMPLATE_HASH)) else {
            return false;
        };
        let set = format!("{}-{hash}", self.name);
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        owners
            .iter()
            .any(|owner| owner.controller == Some(true) && owner.kind == "ReplicaSet" && owner.name == set)
    }

    fn count(&mut self, context: &Context, pod: &Pod) {
        let seen = context.pod(pod, Owner::Ours);
        match seen.state {
            PodState::Live if seen.is_available() => self.available += 1,
            PodState::Live => {
                self.unavailable += 1;
                self.available_at = [self.available_at, seen.available_at].into_iter().flatten().min();
            }
            PodState::Terminating => self.terminating += 1,
            PodState::Ended | PodState::Gone => {}
        }
    }
}

/// Whether another manager applied the owner's label later than we last wrote the Deployment.
fn is_relabelled(metadata: &ObjectMeta) -> bool {
    let managers = metadata.managed_fields.as_deref().unwrap_or_default();
    let is_ours = |manager: &Option<String>| {
        manager
            .as_deref()
            .is_some_and(|name| name == meta::FIELD_MANAGER_LEGACY)
    };
    let ours = managers.iter().filter(|entry| is_ours(&entry.manager));
    let Some(written) = ours.filter_map(|entry| entry.time.as_ref()).map(|time| time.0).max() else {
        return false;
    };
    let labels = [meta::LABEL_OWNER_UID, meta::LABEL_LEGACY_OWNER_UID].map(|label| format!("f:{label}"));
    managers.iter().any(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        let applied = fields.and_then(|fields| fields.get("f:metadata")?.get("f:labels"));
        let has_label = applied.is_some_and(|applied| labels.iter().any(|label| applied.get(label).is_some()));
        let later = entry.time.as_ref().is_some_and(|time| time.0 > written);
        !is_ours(&entry.manager) && entry.operation.as_deref() == Some("Apply") && has_label && later
    })
}

impl Legacy {
    /// Whether finalizers or annotations of the Python operator are on a pipeline.
    #[must_use]
    pub fn marks(pipeline: &ObjectMeta) -> bool {
        let finalizers = pipeline.finalizers.as_deref().unwrap_or_default();
        let annotations = pipeline.annotations.as_ref();
        finalizers.iter().any(|name| is_mark(name))
            || annotations.is_some_and(|all| all.keys().any(|name| is_mark(name)))
    }

    /// Consumers that run or are to run in its Deployments.
    #[must_use]
    pub fn live(&self) -> usize {
        self.deployments.iter().map(LegacyDeployment::live).sum()
    }

    /// Those of them that are available. Of a Deployment that shows more Pods than it was given only so many count: which
    /// of them go is not known.
    #[must_use]
    pub fn available(&self) -> usize {
        let of = |deployment: &LegacyDeployment| deployment.available.min(deployment.given);
        self.deployments.iter().map(of).sum()
    }
}

/// Whether the Python operator put this finalizer, or an annotation of this name, on a pipeline.
#[must_use]
pub fn is_mark(name: &str) -> bool {
    name.starts_with(meta::LEGACY_MARK_PREFIX)
}

impl Observed {
    /// With what is left of an earlier run, and the Pods of the pipeline in its old namespace.
    #[must_use]
    pub fn with_legacy(
        mut self,
        legacy: Legacy,
        pods: &[Pod],
        wanted: Option<&Wanted>,
        settings: &Settings,
        now: Timestamp,
    ) -> Self {
        let context = Context::new(wanted, settings, now);
        let pods = pods.iter().map(|pod| context.pod(pod, Owner::OldNamespace));
        self.pods.extend(pods);
        self.pods.sort_by(|a, b| a.name.cmp(&b.name));
        self.legacy = legacy;
        self
    }

    /// Why the move from the Python operator stops: that operator, or somebody else, still runs its Deployments.
    #[must_use]
    pub fn legacy_operator(&self) -> Option<String> {
        let ours = self
            .pods
            .iter()
            .filter(|pod| pod.owner == Owner::Ours && pod.revision.is_some());
        let first = ours.filter(|pod| pod.is_live()).map(|pod| pod.created).min();
        self.legacy.deployments.iter().find_map(|deployment| {
            let what = deployment.in_words();
            match deployment.wrote {
                Some(wrote) if deployment.given > wrote => {
                    let given = deployment.given;
                    Some(format!(
                        "{what} was set to {given} replicas after this operator had set {wrote}"
                    ))
                }
                Some(_) if deployment.relabelled => Some(format!("{what} was applied again by another operator")),
                // It cannot have been there when our first Pod was made.
                None if !deployment.deleting && first.is_some_and(|first| deployment.created > first) => {
                    Some(format!("{what} was made while this operator ran the pipeline"))
                }
                _ => None,
            }
        })
    }

    /// Whether Pods are there that no revision of ours made: those that the Python operator made itself.
    #[must_use]
    pub(crate) fn has_legacy_pods(&self) -> bool {
        let mut pods = self.pods.iter().filter(|pod| pod.state != PodState::Gone);
        pods.any(|pod| pod.owner != Owner::Predecessor && pod.revision.is_none())
    }

    /// Whether anything of the pipeline may be in its old namespace.
    #[must_use]
    pub(crate) fn is_in_old_namespace(&self) -> bool {
        let Some(old) = &self.legacy.old_namespace else {
            return false;
        };
        let there = self.pods.iter().any(|pod| pod.owner == Owner::OldNamespace);
        let deployments = self.legacy.deployments.iter().any(|object| object.namespace == *old);
        let maps = self
            .legacy
            .config_maps
            .iter()
            .any(|object| object.namespace == *old && object.used_by.is_none());
        self.legacy.unreadable.is_some() || there || deployments || maps
    }

    /// What is left of the earlier run once this was done.
    pub(super) fn note_legacy(&mut self, action: &Action) {
        let legacy = &mut self.legacy;
        match action {
            Action::ScaleLegacy(scale) => {
                for deployment in legacy.deployments.iter_mut().filter(|object| object.uid == scale.uid) {
                    deployment.given = scale.to;
                    deployment.wrote = Some(scale.to);
                }
            }
            Action::DeleteLegacy { uid, .. } => legacy
                .deployments
                .retain(|object| object.uid != *uid || !object.is_empty()),
            Action::DeleteLegacyConfigMap { uid, .. } => legacy.config_maps.retain(|object| object.uid != *uid),
            Action::RemoveLegacyMarks => legacy.has_marks = false,
            _ => {}
        }
    }
}

/// Where anything of the pipeline may be that no ownerReference reaches; only while there is such a place does the
/// pipeline need the operator's finalizer.
pub(crate) fn is_out_of_reach(pipeline: &PipelineFacts, observed: &Observed) -> bool {
    pipeline.is_remote() || observed.is_in_old_namespace()
}
