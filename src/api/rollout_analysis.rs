//! The kind `RolloutAnalysis`: a guard that checks Prometheus during a rollout and holds it when a metric regresses.

#![allow(
    unreachable_pub,
    reason = "the KubeSchema derive repeats the type inside a private block"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "each printer column has a type; the lint takes them for repetitions"
)]

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analysis_status::RolloutAnalysisStatus;

/// What is said of a name that no object can have, by the CRD and by the shared validation.
pub const TARGET_NAME: &str = "is no name of an object: at most 253 of a-z, 0-9, - and ., each part between dots beginning and ending with a letter or digit";
/// What is said of a text that is no duration; likewise.
pub const DURATION: &str = "must be a duration of whole hours, minutes and seconds, such as 30s, 1m30s or 1h";
/// What is said of an `interval` out of its range; likewise.
pub const INTERVAL_RANGE: &str = "must be from 5s to 24h";
/// What is said of an `initialDelay` out of its range; likewise.
pub const INITIAL_DELAY_RANGE: &str = "must be from 0s to 24h";
/// What is said of a metric's name; likewise.
pub const METRIC_NAME: &str = "must be of A-Z, a-z, 0-9, -, _ and ., the first and the last a letter or digit";
/// What is said of a metric without a limit; likewise.
pub const NO_LIMIT: &str = "has no limit: set maxValue, minValue or both";
/// What is said of limits between which nothing lies; likewise.
pub const LIMITS_CROSSED: &str = "must not be above maxValue: no value would hold";
/// What is said of a query with a variable that is none, by the CRD, which cannot name it.
const UNKNOWN_VARIABLE: &str = "has a $( that begins none of the variables $(namespace), $(name), $(revision), $(canaryPods) and $(primaryPods); write $$( for a literal $(";

/// What a RolloutAnalysis asks for: metrics that must hold while its target rolls out.
#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "streams.sentry.io",
    version = "v1alpha1",
    kind = "RolloutAnalysis",
    plural = "rolloutanalyses",
    singular = "rolloutanalysis",
    shortname = "ra",
    category = "streams",
    namespaced,
    status = "RolloutAnalysisStatus",
    doc = "RolloutAnalysis measures Prometheus metrics during a rollout, and holds the rollout when one of them regresses.",
    printcolumn(
        name = "Target",
        type_ = "string",
        json_path = ".spec.target.name",
        description = "Object whose rollout is watched"
    ),
    printcolumn(
        name = "Verdict",
        type_ = "string",
        json_path = ".status.verdict",
        description = "What the measurements say of the target's revision"
    ),
    printcolumn(
        name = "Failures",
        type_ = "integer",
        json_path = ".status.failures",
        description = "Failing measurements of the target's revision"
    ),
    printcolumn(
        name = "Passes",
        type_ = "integer",
        json_path = ".status.passes",
        description = "Passing measurements of the target's revision"
    ),
    printcolumn(
        name = "Value",
        type_ = "string",
        json_path = ".status.value",
        description = "Last value of the metric that is worst"
    ),
    printcolumn(
        name = "Limit",
        type_ = "string",
        json_path = ".status.limit",
        description = "Limit of that metric"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the analysis is Ready or not"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct RolloutAnalysisSpec {
    /// The object whose rollout is watched, in the same namespace.
    pub target: AnalysisTarget,

    /// The metrics, 1 to 20. A measurement passes when all of them hold, and fails when one of them does not.
    #[schemars(length(min = 1, max = 20), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub metrics: Vec<AnalysisMetric>,

    /// Time from one measurement to the next, in whole hours, minutes and seconds as Go writes them, such as 30s or
    /// 1m30s: 5s to 24h. Defaults to 30s.
    #[serde(default = "default_interval")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = ("self.matches('^([0-9]{1,5}h([0-9]{1,5}m)?([0-9]{1,5}s)?|[0-9]{1,5}m([0-9]{1,5}s)?|[0-9]{1,5}s)$')", DURATION))]
    #[x_kube(validation = ("!self.matches('^([0-9]{1,5}h([0-9]{1,5}m)?([0-9]{1,5}s)?|[0-9]{1,5}m([0-9]{1,5}s)?|[0-9]{1,5}s)$') || (duration(self) >= duration('5s') && duration(self) <= duration('24h'))", INTERVAL_RANGE))]
    pub interval: String,

    /// How many failing measurements of a revision fail it; they need not follow each other: 1 to 1000. Defaults to 3.
    #[serde(default = "default_failure_limit")]
    #[schemars(range(min = 1, max = 1000))]
    pub failure_limit: i32,

    /// How many passing measurements of a revision pass it: 1 to 1000. Defaults to 5.
    #[serde(default = "default_required_passes")]
    #[schemars(range(min = 1, max = 1000))]
    pub required_passes: i32,

    /// Time that the first Pod of a revision is available before the first measurement, written as interval is: 0s to
    /// 24h. Defaults to 0s.
    #[serde(default = "default_initial_delay")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = ("self.matches('^([0-9]{1,5}h([0-9]{1,5}m)?([0-9]{1,5}s)?|[0-9]{1,5}m([0-9]{1,5}s)?|[0-9]{1,5}s)$')", DURATION))]
    #[x_kube(validation = ("!self.matches('^([0-9]{1,5}h([0-9]{1,5}m)?([0-9]{1,5}s)?|[0-9]{1,5}m([0-9]{1,5}s)?|[0-9]{1,5}s)$') || duration(self) <= duration('24h')", INITIAL_DELAY_RANGE))]
    pub initial_delay: String,

    /// What three measurements without data in a row do (an empty result, or NaN): Pause (the gate stays shut, as
    /// without a verdict), Continue (they count as passes) or Fail (they count as failures). Defaults to Pause.
    #[serde(default)]
    pub on_no_data: OnNoData,

    /// Enforce, or ReportOnly: measures and reports, and never holds a rollout. Defaults to Enforce.
    #[serde(default)]
    pub mode: AnalysisMode,
}

/// The object whose rollout is watched.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, KubeSchema)]
pub struct AnalysisTarget {
    /// Kind of the object: StreamingPipeline (its gate waits for this analysis), or Deployment (its spec.paused is held
    /// true while this analysis has failed its revision).
    pub kind: TargetKind,
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = ("self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')", TARGET_NAME))]
    pub name: String,
}

/// Kinds whose rollouts can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
pub enum TargetKind {
    /// A pipeline of this operator.
    StreamingPipeline,
    /// A Deployment of `apps/v1`.
    Deployment,
}

/// One metric and its limits.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.maxValue) || has(self.minValue)").message(NO_LIMIT).reason(Reason::FieldValueRequired))]
#[x_kube(validation = Rule::new("!has(self.maxValue) || !has(self.minValue) || self.minValue <= self.maxValue").message(LIMITS_CROSSED).field_path(".minValue"))]
pub struct AnalysisMetric {
    /// Name of the metric within this analysis, as Events and conditions have it: 1 to 63 letters, digits, hyphens,
    /// underscores and dots.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = ("self == '' || self.matches('^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$')", METRIC_NAME))]
    pub name: String,

    /// The query, in PromQL, whose result is an instant vector or a scalar. $(namespace), $(name), $(revision),
    /// $(canaryPods) and $(primaryPods) stand for the target's namespace, name and revision, and for regular expressions
    /// of the names of its live Pods of the new and of the old revision. Write $$( for a literal $(.
    #[schemars(length(min = 1, max = 8192))]
    #[x_kube(validation = ("!self.replace('$$(', ' ').replace('$(namespace)', ' ').replace('$(name)', ' ').replace('$(revision)', ' ').replace('$(canaryPods)', ' ').replace('$(primaryPods)', ' ').contains('$(')", UNKNOWN_VARIABLE))]
    pub query: String,

    /// The metric holds while each series is at most this. At least one of maxValue and minValue is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub max_value: Option<f64>,

    /// The metric holds while each series is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub min_value: Option<f64>,

    /// Name of the metrics source that is asked, as the operator is configured with --metrics-source. Defaults to
    /// default.
    #[serde(default = "default_source")]
    #[schemars(length(min = 1, max = 63))]
    pub source: String,
}

/// What three measurements without data in a row do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum OnNoData {
    /// They count nothing, and a gate that is shut stays shut.
    #[default]
    Pause,
    /// They count as passes.
    Continue,
    /// They count as failures.
    Fail,
}

/// Whether an analysis can hold a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum AnalysisMode {
    /// It can.
    #[default]
    Enforce,
    /// It only reports.
    ReportOnly,
}

fn default_interval() -> String {
    "30s".to_owned()
}

fn default_initial_delay() -> String {
    "0s".to_owned()
}

fn default_source() -> String {
    "default".to_owned()
}

const fn default_failure_limit() -> i32 {
    3
}

const fn default_required_passes() -> i32 {
    5
}
