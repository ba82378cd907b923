//! `status` of a RolloutAnalysis: an API of its own, and all that outlasts a restart or a change of the leader.
//!
//! Reading is lenient: what cannot be read is as good as absent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions::Condition;

/// What the operator last measured and decided. Written by the operator alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutAnalysisStatus {
    /// Generation of the spec that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub observed_generation: Option<i64>,

    /// The conditions of the analysis: Ready, TargetFound, MetricsUnavailable, RegressionDetected, RolloutPaused, Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,

    /// What the measurements say of the target's revision: Pending (nothing to measure yet), Measuring, Passed, Failed,
    /// Unavailable (no verdict yet, and the metrics source does not answer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Verdict")]
    pub verdict: Option<Verdict>,

    /// Failing measurements of the target's revision.
    #[serde(default)]
    pub failures: i32,

    /// Passing measurements of the target's revision; stops at requiredPasses.
    #[serde(default)]
    pub passes: i32,

    /// Measurements without data in a row.
    #[serde(default)]
    pub no_data: i32,

    /// Outcome of the last measurement: Pass, Fail, NoData, Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Outcome")]
    pub last_verdict: Option<Outcome>,

    /// Uid of the target that the counts are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub target_uid: Option<String>,

    /// Revision of the target that the counts are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub target_revision: Option<String>,

    /// When the first Pod of the target's revision was seen available, RFC 3339; initialDelay counts from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub started_at: Option<String>,

    /// Time stamp of the last resume that was obeyed; each is obeyed once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub resumed_at: Option<String>,

    /// Revision whose pause a person lifted; this analysis does not pause it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub resumed_revision: Option<String>,

    /// Whether the rollout of the target's revision has ended. From then on the verdict stays, and nothing is paused.
    #[serde(default)]
    pub rollout_ended: bool,

    /// Failing measurements in a row; those without data, and those that got no answer, neither count nor end it.
    #[serde(default)]
    pub failing_in_a_row: i32,

    /// What failed the target's revision; absent while its verdict is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AnalysisFailure")]
    pub failed: Option<AnalysisFailure>,

    /// The Deployment that is held at spec.paused by this analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HeldDeployment")]
    pub held: Option<HeldDeployment>,

    /// Last value of the metric that is worst, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub value: Option<String>,

    /// Limit of that metric, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub limit: Option<String>,

    /// What was last seen of each metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub metrics: Vec<MetricStatus>,

    /// The last 10 measurements, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub measurements: Vec<Measurement>,
}

/// What the measurements say of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
pub enum Verdict {
    /// Nothing to measure yet.
    Pending,
    /// Measurements count.
    Measuring,
    /// `requiredPasses` measurements passed.
    Passed,
    /// `failureLimit` measurements failed. Latched for the revision.
    Failed,
    /// No verdict yet, and the metrics source does not answer.
    Unavailable,
}

/// Outcome of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
pub enum Outcome {
    /// Every metric held.
    Pass,
    /// A metric did not hold.
    Fail,
    /// No metric failed, and at least one had no data.
    NoData,
    /// A metric could not be asked for, and none failed.
    Error,
}

/// What failed a revision.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct AnalysisFailure {
    /// When it failed, RFC 3339.
    pub time: String,
    /// The metric with its value and its limit.
    pub message: String,
}

/// A Deployment that is held.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct HeldDeployment {
    /// Name of the Deployment.
    pub name: String,
    /// Uid of the Deployment.
    pub uid: String,
    /// Revision (SHA-256 of spec.template) that is held.
    pub revision: String,
}

/// What was last seen of a metric.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricStatus {
    /// Name of the metric.
    pub name: String,
    /// Value of the worst series, as Prometheus writes numbers; absent without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub value: Option<String>,
    /// The limit that value was held against, such as <= 0.25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub limit: Option<String>,
    /// The series of the last answer by their labels, the worst first, the others by their names; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub series: Vec<String>,
    /// The query as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub query: Option<String>,
    /// Why the metrics source was last not able to answer; absent once it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub error: Option<String>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Measurement {
    /// When it was made, RFC 3339.
    pub time: String,
    /// How the measurement ended: Pass, Fail, NoData, Error.
    pub verdict: Outcome,
    /// Value of the worst metric; absent without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub value: Option<String>,
    /// Name of the worst metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub metric: Option<String>,
}
