//! Conditions of our kinds and their types. Why one is as it is, says [`super::reasons`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One observation of the object's state, in the form of `meta/v1` Condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is judged. Of a pipeline: Rendered, Applied, Available, Progressing, RolloutPaused, Ready, Reconciling or
    /// Stalled; of an analysis: Ready, TargetFound, MetricsUnavailable, RegressionDetected, RolloutPaused or Stalled.
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

macro_rules! condition_types {
    ($(#[doc = $doc:literal])+ $name:ident: $($(#[doc = $means:literal])+ $type:ident,)*) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $means])+ $type),* }

        impl $name {
            /// Every one, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$type),*];

            /// As it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$type => stringify!($type)),* }
            }

            /// What it judges, in Markdown.
            #[must_use]
            pub const fn means(self) -> &'static str {
                match self { $(Self::$type => concat!($($means),+)),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

condition_types! {
    /// What a condition of a pipeline judges. All are present from the first visit on.
    ConditionType:
    /// Whether the spec could be turned into Pods.
    Rendered,
    /// Whether what the operator had to write, it could write.
    Applied,
    /// Whether at least `replicas` - `maxUnavailable` Pods are available, and not none.
    Available,
    /// Whether the rollout moves, or is complete.
    Progressing,
    /// Whether something holds the rollout: the spec, a failure, a deadline, a refusal.
    RolloutPaused,
    /// Whether all is as the spec asks. `kubectl get spipe` shows its reason as REASON.
    Ready,
    /// Whether the operator is at work on it, or waits for what comes by itself (kstatus).
    Reconciling,
    /// Whether it will not go on without a person (kstatus). The one to alert on.
    Stalled,
}

condition_types! {
    /// What a condition of an analysis judges. All are present from the first visit on.
    AnalysisConditionType:
    /// Whether the analysis can do its work, and its metrics hold. `kubectl get ra` shows its reason as REASON.
    Ready,
    /// Whether the object that it watches is there.
    TargetFound,
    /// Whether all attempts of the last measurement failed to get an answer. An outage counts nothing and pauses nothing.
    MetricsUnavailable,
    /// Whether the metrics say that the target's revision is worse than it may be.
    RegressionDetected,
    /// Whether this analysis holds the rollout of its target.
    RolloutPaused,
    /// Whether it will not go on without a person (kstatus).
    Stalled,
}
