//! What is left of an earlier run of a pipeline: Deployments and ConfigMaps of the Python operator, and the namespace in
//! which the Pods ran before, where that is another than now.
//!
//! All of it is read from the API server in the pass that judges it, so there are no own writes to be laid over it. Must
//! never take a Pod for a Deployment's because a selector matches it: the Python operator gave the Deployments of two
//! segments the same selector.

mod claim;
mod rolling;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::pods::Context;
use super::{Observed, Owner, PipelineFacts, PodState};
use crate::api::meta;
use crate::core::names::WorkloadSet;
use crate::core::plan::{Action, Wanted};
use crate::core::settings::Settings;

pub use claim::Claim;
pub use rolling::{Rolling, Update};

/// Label by which the Deployment controller tells the `ReplicaSet`s of a Deployment apart; it is a part of their names.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";
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
    /// Since when it is left to this operator; `None` when it was never claimed.
    pub claimed: Option<Timestamp>,
    /// Whether it was claimed again, because somebody had applied it.
    pub claimed_again: bool,
    /// Whether that is back which was taken off when it was claimed: somebody has applied it since.
    pub applied: bool,
    /// The rolling update in which it is.
    pub rolling: Option<Rolling>,
    /// When it was set back to an earlier template here.
    pub set_back: Option<Timestamp>,
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
    /// Of a Deployment, and Pods and, where it is in a rolling update, `ReplicaSet`s of its namespace among which all of its
    /// own are. Available Pods have been Ready for `min_ready`. `None` when it was never stored.
    #[must_use]
    pub fn read(
        deployment: &Deployment,
        pods: &[Pod],
        sets: &[ReplicaSet],
        min_ready: SignedDuration,
        now: Timestamp,
    ) -> Option<Self> {
        let metadata = &deployment.metadata;
        let name = metadata.name.clone()?;
        let deleting = metadata.deletion_timestamp.is_some();
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let annotations = metadata.annotations.as_ref();
        let annotation = |key: &str| annotations.and_then(|all| all.get(key)).map(String::as_str);
        let wrote = annotation(meta::ANNOTATION_LEGACY_REPLICAS).and_then(|text| text.trim().parse().ok());
        let claim: Vec<&str> = annotation(meta::ANNOTATION_LEGACY_CLAIMED)
            .unwrap_or_default()
            .split_whitespace()
            .collect();
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
            claimed: claim.first().and_then(|time| time.parse().ok()),
            claimed_again: claim.len() > 1,
            applied: claim::is_applied(metadata),
            rolling: None,
            set_back: annotation(meta::ANNOTATION_LEGACY_SET_BACK).and_then(|time| time.parse().ok()),
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
        let mut available = own.clone();
        available.retain(|pod| facts.count(&context, pod));
        facts.rolling = Rolling::read(deployment, sets, &available);
        Some(facts)
    }

    /// As it stands in a file, left alone since long ago. Where the file has a status it says how many consumers are
    /// available, else all are; an update that is under way is taken to hang, and the available ones to be of the template
    /// before. `None` when it is nobody's; else with the namespace and name of the pipeline that its annotations name.
    #[must_use]
    pub fn in_file(deployment: &Deployment) -> Option<(String, String, Self)> {
        let annotations = deployment.metadata.annotations.as_ref()?;
        let get = |theirs, ours| annotations.get(theirs).or_else(|| annotations.get(ours)).cloned();
        let namespace = get(
            meta::ANNOTATION_LEGACY_OWNER_NAMESPACE,
            meta::ANNOTATION_OWNER_NAMESPACE,
        )?;
        let name = get(meta::ANNOTATION_LEGACY_OWNER_NAME, meta::ANNOTATION_OWNER_NAME)?;
        let mut deployment = deployment.clone();
        let metadata = &mut deployment.metadata;
        metadata.namespace.get_or_insert_with(|| namespace.clone());
        metadata.uid = metadata.name.clone();
        metadata.resource_version.get_or_insert_default();
        let mut read = Self::read(&deployment, &[], &[], SignedDuration::ZERO, Timestamp::MIN)?;
        let count = |number: Option<i32>| {
            number
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or_default()
        };
        read.available = read.given;
        if let Some(status) = deployment.status.as_ref().filter(|status| status.replicas.is_some()) {
            read.available = count(status.available_replicas);
            read.unavailable = count(status.replicas).saturating_sub(read.available);
        }
        if let Some(rolling) = &mut read.rolling {
            rolling.progressed = None;
            rolling.back_to = Some(String::new());
            // To set one back that serves nobody is of no use.
            read.set_back = (read.available == 0).then_some(Timestamp::MIN);
        }
        (read.claimed, read.wrote, read.applied) = (Some(Timestamp::MIN), Some(read.given), false);
        Some((namespace, name, read))
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

    /// Whether a Pod is of one of its `ReplicaSet`s. Those are named after it and after the digest that the Pod has as a
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

    /// Counts one of its Pods; whether it is available.
    fn count(&mut self, context: &Context, pod: &Pod) -> bool {
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
        seen.state == PodState::Live && seen.is_available()
    }
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

    /// Whether Pods are there that no revision of ours made: those that the Python operator made itself.
    #[must_use]
    pub(crate) fn has_legacy_pods(&self) -> bool {
        let mut pods = self.pods.iter().filter(|pod| pod.state != PodState::Gone);
        pods.any(|pod| pod.owner != Owner::Predecessor && pod.revision.is_none())
    }

    /// Whether anything of the pipeline may be in its old namespace; a ConfigMap that another pipeline still mounts is.
    #[must_use]
    pub(crate) fn is_in_old_namespace(&self) -> bool {
        let Some(old) = &self.legacy.old_namespace else {
            return false;
        };
        let there = self.pods.iter().any(|pod| pod.owner == Owner::OldNamespace);
        let deployments = self.legacy.deployments.iter().any(|object| object.namespace == *old);
        let maps = self.legacy.config_maps.iter().any(|object| object.namespace == *old);
        self.legacy.unreadable.is_some() || there || deployments || maps
    }

    /// What is left of the earlier run once this was done.
    pub(super) fn note_legacy(&mut self, action: &Action) {
        let legacy = &mut self.legacy;
        match action {
            Action::ClaimLegacy(claim) => {
                for deployment in legacy.deployments.iter_mut().filter(|object| object.uid == claim.uid) {
                    deployment.claimed = Some(claim.at);
                    deployment.claimed_again = claim.again;
                    deployment.wrote = Some(claim.replicas);
                    deployment.applied = false;
                    deployment.set_back = None;
                }
            }
            Action::ScaleLegacy(scale) => {
                for deployment in legacy.deployments.iter_mut().filter(|object| object.uid == scale.uid) {
                    deployment.given = scale.to;
                    deployment.wrote = Some(scale.to);
                }
            }
            Action::SetBackLegacy(back) => {
                for deployment in legacy.deployments.iter_mut().filter(|object| object.uid == back.uid) {
                    deployment.set_back = Some(back.at);
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

#[cfg(test)]
mod tests;
