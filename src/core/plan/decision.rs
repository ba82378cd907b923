//! What a pass decides: facts to be written first, then actions in the order in which they are to be done.
//!
//! Each action carries its reason; the same value feeds the log, the Event and the metric.

use jiff::{SignedDuration, Timestamp};

use crate::core::names::{PodName, Revision, WorkloadSet};
use crate::core::observed::PodFacts;

use super::facts::Facts;
use super::notices::Notice;

/// What a pass decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Where the rollout stands.
    pub facts: Facts,
    /// Whether `facts` differ from the status that is stored in a way that must be written before any action: a crash
    /// after an action must find the facts that allowed it.
    pub facts_first: bool,
    /// What to do, in this order. An action that is refused ends its kind: creates after a refused create are skipped,
    /// and so is all that follows a refused ControllerRevision or ConfigMap.
    pub actions: Vec<Action>,
    /// What happened to the rollout, to be told once the facts are written.
    pub notices: Vec<Notice>,
    /// When to look again, if no event comes before.
    pub wake_after: Option<SignedDuration>,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put the operator's finalizer on the pipeline: its Pods run in another namespace.
    AddFinalizer,
    /// Take it off again.
    RemoveFinalizer,
    /// Create the ControllerRevision of the spec's revision, with the templates rendered now.
    CreateRevision {
        /// The spec's revision.
        revision: Revision,
        /// Name of the object.
        name: String,
    },
    /// Create the ConfigMap of a revision: of the spec's as rendered now, of another rendered again from its stored
    /// spec.
    CreateConfigMap {
        /// The revision whose Pods mount it.
        revision: Revision,
        /// Name of the object.
        name: String,
    },
    /// Send this Pod with `dryRun=All`, and note the answer in the ledger.
    DryRunPod(PodPlan),
    /// Create a Pod.
    CreatePod(PodPlan),
    /// Delete a Pod, with its uid as precondition.
    DeletePod(PodDelete),
    /// Delete a ConfigMap, with its uid as precondition.
    DeleteConfigMap {
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
        /// Why.
        why: ObjectReason,
    },
    /// Delete a ControllerRevision, with its uid as precondition.
    DeleteRevision {
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
        /// Why.
        why: ObjectReason,
    },
    /// Note on a Deployment of the Python operator that it is left to this one from now on, with its resourceVersion as
    /// precondition.
    ClaimLegacy(ClaimLegacy),
    /// Take consumers off a Deployment of the Python operator, with its resourceVersion as precondition.
    ScaleLegacy(ScaleLegacy),
    /// Give a Deployment of the Python operator the Pod template that it had before, with its resourceVersion as
    /// precondition.
    SetBackLegacy(SetBackLegacy),
    /// Delete a Deployment of the Python operator, with its uid as precondition. It stays until its Pods are gone.
    DeleteLegacy {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// Delete a ConfigMap of the Python operator, or one of the old namespace, with its uid as precondition.
    DeleteLegacyConfigMap {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// Take the finalizers and annotations of the Python operator off the pipeline.
    RemoveLegacyMarks,
    /// Write the annotation `completed-at` on a ControllerRevision.
    MarkCompleted {
        /// Name of the object.
        name: String,
        /// The revision.
        revision: Revision,
        /// The time to write.
        at: Timestamp,
    },
}

/// A Pod to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodPlan {
    /// Its name, of which the ordinal and the generation are a part.
    pub name: PodName,
    /// Its set.
    pub set: WorkloadSet,
    /// The revision whose stored template it is made of.
    pub revision: Revision,
    /// How many failures in a row led to it.
    pub failures: u32,
    /// Why it is made.
    pub why: CreateReason,
    /// The Pod that failed and whose place it takes; `None` when there is none.
    pub replaces: Option<Replaced>,
}

/// A Pod that failed, or was ended for its node's sake, and is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Its name.
    pub name: String,
    /// Why, in a word of the kubelet, as the status names it.
    pub reason: String,
    /// Why, in a sentence of the kubelet.
    pub message: Option<String>,
    /// Whether it ended by no fault of its own, so that it counts as no failure.
    pub disruption: bool,
}

impl Replaced {
    pub(super) fn of(pod: &PodFacts) -> Self {
        Self {
            name: pod.name.clone(),
            reason: pod.health.verdict.reason().unwrap_or_default().to_owned(),
            message: pod.health.message.clone(),
            disruption: pod.health.disruption,
        }
    }
}

/// A Deployment of the Python operator to be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLegacy {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion, the precondition.
    pub resource_version: String,
    /// Its number, which stays.
    pub replicas: usize,
    /// The time to write.
    pub at: Timestamp,
    /// Whether it was claimed before and then applied by somebody else.
    pub again: bool,
}

/// Consumers to be taken off a Deployment of the Python operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleLegacy {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion, the precondition.
    pub resource_version: String,
    /// Its number now.
    pub from: usize,
    /// Its number afterwards.
    pub to: usize,
}

/// A Deployment of the Python operator whose rolling update hangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetBackLegacy {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion, the precondition.
    pub resource_version: String,
    /// The `ReplicaSet` whose template it gets.
    pub to: String,
    /// The time to write.
    pub at: Timestamp,
}

/// Why a Pod is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CreateReason {
    /// Its place has no Pod.
    Missing,
    /// The Pod of its place ended or failed.
    Failed,
    /// It takes over from the Pod beside it, or keeps a pipeline served while that one starts.
    HandOver,
    /// It takes over from a surplus Pod, or from the only consumer of the Python operator.
    TakeOver,
}

/// A Pod to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDelete {
    /// Its name.
    pub name: String,
    /// Its uid, the precondition.
    pub uid: String,
    /// Why.
    pub why: DeleteReason,
    /// With grace period 0: only for a Pod that will not end otherwise.
    pub force: bool,
}

impl PodDelete {
    /// The delete of a Pod; `None` for one whose create got no answer, so that its uid, the precondition, is not known: it
    /// is waited for until the cache shows it.
    pub(super) fn of(name: &str, uid: &str, why: DeleteReason) -> Option<Self> {
        (!uid.is_empty()).then(|| Self {
            name: name.to_owned(),
            uid: uid.to_owned(),
            why,
            force: false,
        })
    }
}

/// Why a Pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeleteReason {
    /// It is not of the wanted revision.
    OutdatedRevision,
    /// It is older than `restartAt`.
    Restart,
    /// It belongs to a deleted pipeline of the same name.
    Predecessor,
    /// It runs in the namespace in which the pipeline's Pods ran before.
    OldNamespace,
    /// It does not work, and another takes its place.
    Failed,
    /// It ended, and its place has another Pod or is not wanted.
    Ended,
    /// Another Pod of its place stays.
    Duplicate,
    /// Its place is not wanted any more.
    ScaleDown,
    /// No Pod is wanted.
    Drain,
    /// Its revision failed and it does not work.
    RevisionFailed,
    /// It will not end.
    StuckTerminating,
    /// The pipeline is being deleted.
    PipelineDeleted,
}

/// Why a ConfigMap or ControllerRevision is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectReason {
    /// Nothing refers to it, and the history is long enough without it.
    Unused,
    /// It belongs to a deleted pipeline of the same name and has a name that is needed.
    Predecessor,
    /// The pipeline is being deleted.
    PipelineDeleted,
}
