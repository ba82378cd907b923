//! What a pass decides: facts to be written first, then actions in the order in which they are to be done.
//!
//! Each action carries its reason; the same value feeds the log, the Event and the metric.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::core::names::{Generation, Ordinal, PodName, Revision, WorkloadSet};

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

/// Where the rollout stands. All of it goes into the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Revision of the spec; that of the last spec that could be rendered when this one cannot.
    pub update_revision: Option<Revision>,
    /// Revision that last completed.
    pub current_revision: Option<Revision>,
    /// Revision whose gate has been opened.
    pub gate_opened_for: Option<Revision>,
    /// The update revision's failure, while it is the spec's.
    pub failed: Option<Failed>,
    /// When an updated Pod last became available or the gate opened.
    pub last_progress: Option<Timestamp>,
    /// Since when no primary Pod has been available; `None` while one is, or none is wanted, or nothing is gated.
    pub no_primary_since: Option<Timestamp>,
    /// The generation last given out for each place.
    pub generations: BTreeMap<(WorkloadSet, Ordinal), Generation>,
    /// What holds the rollout now.
    pub holds: Vec<Hold>,
    /// Where the rollout stands, in one word.
    pub phase: Phase,
}

/// A revision that is not rolled out any more while it is the spec's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The revision.
    pub revision: Revision,
    /// Why.
    pub why: FailedWhy,
    /// Since when.
    pub at: Timestamp,
}

/// Why a revision is not rolled out any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedWhy {
    /// A RolloutAnalysis failed.
    AnalysisFailed,
    /// No progress within the deadline, and `onFailure` is `Rollback`.
    ProgressDeadlineExceeded,
    /// A person sent it back.
    Aborted,
}

impl FailedWhy {
    const ALL: [Self; 3] = [Self::AnalysisFailed, Self::ProgressDeadlineExceeded, Self::Aborted];

    /// As it stands in `status.rollout.failedRevision.reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnalysisFailed => "AnalysisFailed",
            Self::ProgressDeadlineExceeded => "ProgressDeadlineExceeded",
            Self::Aborted => "Aborted",
        }
    }

    /// What the status says.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == text)
    }
}

/// One thing that holds a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Who holds.
    pub by: HoldBy,
    /// Since when.
    pub since: Timestamp,
    /// Why, in a sentence.
    pub message: String,
}

/// Who holds a rollout, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldBy {
    /// `rollout.paused`.
    Paused,
    /// `suspend`.
    Suspended,
    /// `replicas` is 0.
    ScaledToZero,
    /// The gate waits for the canary.
    GateCanary,
    /// The gate waits only for an analysis.
    GateAnalysis,
    /// No progress within the deadline.
    Deadline,
    /// The revision failed.
    Failed,
    /// The API server would refuse the revision's first Pod.
    DryRun,
}

impl HoldBy {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Paused,
        Self::Suspended,
        Self::ScaledToZero,
        Self::GateCanary,
        Self::GateAnalysis,
        Self::Deadline,
        Self::Failed,
        Self::DryRun,
    ];

    /// `by` and `reason` of the hold in the status.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Paused => ("spec", "RolloutPaused"),
            Self::Suspended => ("spec", "Suspended"),
            Self::ScaledToZero => ("spec", "ScaledToZero"),
            Self::GateCanary => ("gate", "AwaitingCanary"),
            Self::GateAnalysis => ("gate", "AwaitingAnalysis"),
            Self::Deadline => ("deadline", "ProgressDeadlineExceeded"),
            Self::Failed => ("revision", "RolloutFailed"),
            Self::DryRun => ("apiserver", "ApiRejected"),
        }
    }

    /// Whether it is about the spec as a whole and outlasts a change of the revision.
    #[must_use]
    pub const fn is_of_the_spec(self) -> bool {
        match self {
            Self::Paused | Self::Suspended | Self::ScaledToZero => true,
            Self::GateCanary | Self::GateAnalysis | Self::Deadline | Self::Failed | Self::DryRun => false,
        }
    }

    /// Whether the clock of the deadline stands still meanwhile.
    #[must_use]
    pub const fn stops_the_clock(self) -> bool {
        match self {
            Self::Paused | Self::Suspended | Self::ScaledToZero | Self::GateAnalysis => true,
            Self::GateCanary | Self::Deadline | Self::Failed | Self::DryRun => false,
        }
    }
}

/// Where a rollout stands, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Every wanted Pod is of the wanted revision and available, and nothing else is left.
    Complete,
    /// Under way: a rollout, healing or scaling.
    #[default]
    Progressing,
    /// The gate waits only for an analysis.
    AwaitingAnalysis,
    /// Paused with work left.
    Paused,
    /// No Pod is wanted.
    Suspended,
    /// The spec's revision failed and holds where it stands.
    Failed,
    /// The spec's revision failed, and the Pods are back or going back.
    RolledBack,
    /// Past the deadline, or the spec cannot be rendered.
    Stalled,
}

impl Phase {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Complete,
        Self::Progressing,
        Self::AwaitingAnalysis,
        Self::Paused,
        Self::Suspended,
        Self::Failed,
        Self::RolledBack,
        Self::Stalled,
    ];

    /// As it stands in `status.rollout.phase`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Progressing => "Progressing",
            Self::AwaitingAnalysis => "AwaitingAnalysis",
            Self::Paused => "Paused",
            Self::Suspended => "Suspended",
            Self::Failed => "Failed",
            Self::RolledBack => "RolledBack",
            Self::Stalled => "Stalled",
        }
    }
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
    /// It takes over from a surplus Pod.
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

/// Why a Pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeleteReason {
    /// It is not of the wanted revision.
    OutdatedRevision,
    /// It is older than `restartAt`.
    Restart,
    /// It belongs to a deleted pipeline of the same name.
    Predecessor,
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

/// Something that happened to a rollout, for an Event and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What.
    pub reason: NoticeReason,
    /// In a sentence.
    pub message: String,
}

/// What happened. The words are an API: people alert on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeReason {
    /// A failed Pod was replaced.
    PodReplaced,
    /// A Pod that would not end was deleted with grace period 0.
    PodForceDeleted,
    /// A new revision is being rolled out.
    RolloutStarted,
    /// The gate between canary and primaries opened.
    CanaryPromoted,
    /// The rollout is held by the spec.
    RolloutPaused,
    /// The rollout is held no longer, or the revision may try again.
    RolloutResumed,
    /// Every Pod is of the new revision and available.
    RolloutCompleted,
    /// The revision failed and holds where it stands.
    RolloutFailed,
    /// The revision failed, and the Pods go back.
    RolledBack,
    /// The spec cannot be rendered.
    RenderFailed,
    /// Another object holds a name that is needed.
    NameCollision,
}

impl NoticeReason {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::PodReplaced,
        Self::PodForceDeleted,
        Self::RolloutStarted,
        Self::CanaryPromoted,
        Self::RolloutPaused,
        Self::RolloutResumed,
        Self::RolloutCompleted,
        Self::RolloutFailed,
        Self::RolledBack,
        Self::RenderFailed,
        Self::NameCollision,
    ];

    /// `reason` of the Event.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PodReplaced => "PodReplaced",
            Self::PodForceDeleted => "PodForceDeleted",
            Self::RolloutStarted => "RolloutStarted",
            Self::CanaryPromoted => "CanaryPromoted",
            Self::RolloutPaused => "RolloutPaused",
            Self::RolloutResumed => "RolloutResumed",
            Self::RolloutCompleted => "RolloutCompleted",
            Self::RolloutFailed => "RolloutFailed",
            Self::RolledBack => "RolledBack",
            Self::RenderFailed => "RenderFailed",
            Self::NameCollision => "NameCollision",
        }
    }

    /// Whether the Event is a Warning.
    #[must_use]
    pub const fn is_warning(self) -> bool {
        match self {
            Self::PodForceDeleted
            | Self::RolloutFailed
            | Self::RolledBack
            | Self::RenderFailed
            | Self::NameCollision => true,
            Self::PodReplaced
            | Self::RolloutStarted
            | Self::CanaryPromoted
            | Self::RolloutPaused
            | Self::RolloutResumed
            | Self::RolloutCompleted => false,
        }
    }
}

/// What became of the actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Each action with its result, in order.
    pub results: Vec<(Action, ActionResult)>,
}

/// What became of one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionResult {
    /// Done.
    Done,
    /// It was done already: the object exists and is ours, or is gone.
    AlreadyOurs,
    /// An object that is not ours has the name.
    NotOurs {
        /// Who has it, in words: `pipeline ns/name`, `a Pod that no pipeline owns`.
        holder: String,
    },
    /// The API server refused it.
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the Status.
        reason: String,
        /// `message` of the Status.
        message: String,
    },
    /// The API server could not be asked, or failed itself (5xx, 429, no answer).
    Unavailable {
        /// What went wrong.
        message: String,
    },
    /// An earlier action's failure forbade it.
    Skipped,
}

impl ActionResult {
    /// Whether the world is now as the action wanted it.
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        match self {
            Self::Done | Self::AlreadyOurs => true,
            Self::NotOurs { .. } | Self::Refused { .. } | Self::Unavailable { .. } | Self::Skipped => false,
        }
    }
}

impl Outcome {
    /// The first action that failed by itself, with how.
    #[must_use]
    pub fn first_failure(&self) -> Option<(&Action, &ActionResult)> {
        self.results
            .iter()
            .find(|(_, result)| !result.succeeded() && *result != ActionResult::Skipped)
            .map(|(action, result)| (action, result))
    }
}
