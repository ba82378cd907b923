//! The facts of a rollout: what a pass finds, and the status keeps for the next one.
//!
//! Must never hold what can be seen on the objects themselves.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::Reason;
use crate::core::names::{Generation, Ordinal, Revision, WorkloadSet};

/// Where the rollout stands. All of it goes into the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Revision of the spec; that of the last spec that could be rendered when this one cannot.
    pub update_revision: Option<Revision>,
    /// Revision that last completed.
    pub current_revision: Option<Revision>,
    /// Revision whose gate has been opened.
    pub gate_opened_for: Option<Revision>,
    /// The update revision, while an edit returns to it although it is the one that last completed: until it is complete
    /// again. The Pods cannot tell this from healing.
    pub returns_to: Option<Revision>,
    /// The update revision, when an order to abort it has been looked at; the same order does nothing more.
    pub answered_abort: Option<Revision>,
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
    /// Every one.
    pub const ALL: [Self; 3] = [Self::AnalysisFailed, Self::ProgressDeadlineExceeded, Self::Aborted];

    /// As it stands in `status.rollout.failedRevision.reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnalysisFailed => "AnalysisFailed",
            Self::ProgressDeadlineExceeded => "ProgressDeadlineExceeded",
            Self::Aborted => "Aborted",
        }
    }

    /// In a sentence, for people.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::AnalysisFailed => "a RolloutAnalysis failed",
            Self::ProgressDeadlineExceeded => "there was no progress within progressDeadlineSeconds",
            Self::Aborted => "a person aborted it",
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
    pub const fn words(self) -> (&'static str, Reason) {
        match self {
            Self::Paused => ("spec", Reason::RolloutPaused),
            Self::Suspended => ("spec", Reason::Suspended),
            Self::ScaledToZero => ("spec", Reason::ScaledToZero),
            Self::GateCanary => ("gate", Reason::AwaitingCanary),
            Self::GateAnalysis => ("gate", Reason::AwaitingAnalysis),
            Self::Deadline => ("deadline", Reason::ProgressDeadlineExceeded),
            Self::Failed => ("revision", Reason::RolloutFailed),
            Self::DryRun => ("apiserver", Reason::ApiRejected),
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
