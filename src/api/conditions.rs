//! Conditions of our kinds, their types and reasons. Reasons are an API: people alert on them, so none is renamed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One observation of the object's state, in the form of `meta/v1` Condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is judged: Rendered, Applied, Available, Progressing, RolloutPaused, Ready, Reconciling or Stalled.
    #[serde(rename = "type")]
    pub type_: String,
    /// The judgement: True, False or Unknown.
    pub status: String,
    /// Generation of the spec that was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub observed_generation: Option<i64>,
    /// When the status last changed, RFC 3339.
    #[serde(default)]
    pub last_transition_time: String,
    /// Why, in one word, for programs to read.
    #[serde(default)]
    pub reason: String,
    /// Why, in a sentence, for people to read.
    #[serde(default)]
    pub message: String,
}

/// Status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It cannot be said.
    Unknown,
}

impl ConditionStatus {
    /// As it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A closed set of words with the text on the wire, and `ALL` to walk them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// Every one, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a condition judges. All are present from the first visit on.
    ConditionType {
        /// The spec could be rendered into Pods.
        Rendered,
        /// What the operator had to write, it could write.
        Applied,
        /// Enough Pods are available.
        Available,
        /// The rollout moves, or is complete.
        Progressing,
        /// The rollout is held: by the spec, an analysis or a failure.
        RolloutPaused,
        /// All is as the spec asks.
        Ready,
        /// The operator is at work on it (kstatus).
        Reconciling,
        /// It will not go on without a person (kstatus).
        Stalled,
    }
}

words! {
    /// Why a condition is as it is.
    Reason {
        /// All Pods are of the spec's revision and available.
        Ready,
        /// The condition has nothing to report.
        AsExpected,
        /// The spec was rendered.
        Rendered,
        /// Everything was written.
        Applied,
        /// Enough Pods are available.
        MinimumReplicasAvailable,
        /// Fewer Pods are available than the budget allows.
        MinimumReplicasUnavailable,
        /// The last rollout is complete.
        NewRevisionAvailable,
        /// A rollout, or healing or scaling, is under way.
        RolloutProgressing,
        /// Pods are being replaced by those of a new revision.
        RollingOut,
        /// Failed or missing Pods are being made again.
        Healing,
        /// Pods are added or removed because `replicas` changed.
        Scaling,
        /// The gate waits for the canary to be available.
        AwaitingCanary,
        /// The gate waits for a RolloutAnalysis.
        AwaitingAnalysis,
        /// `rollout.paused` holds a rollout that has work left.
        RolloutPaused,
        /// `suspend` is set.
        Suspended,
        /// `replicas` is 0.
        ScaledToZero,
        /// No progress within `progressDeadlineSeconds`.
        ProgressDeadlineExceeded,
        /// The revision failed and holds where it stands.
        RolloutFailed,
        /// The revision failed or was aborted, and the Pods went back to the current one.
        RolledBack,
        /// The spec cannot be rendered.
        RenderFailed,
        /// Another object holds a name that is needed.
        NameCollision,
        /// A Pod or ConfigMap of a deleted pipeline of the same name is being replaced first.
        WaitingForPredecessor,
        /// The API server refused an object.
        ApiRejected,
        /// A right is missing.
        Forbidden,
        /// A quota is used up.
        QuotaExceeded,
        /// The API server could not be asked.
        ApiUnavailable,
        /// The workload namespace is being deleted or does not exist.
        NamespaceTerminating,
        /// A Pod cannot be helped by replacing it.
        PermanentPodFailure,
        /// A Pod will not end, and may not be forced to.
        StuckTerminating,
        /// The pipeline is being deleted.
        Deleting,
    }
}
