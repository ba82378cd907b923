//! `status` of a StreamingPipeline. The fields of the Python operator keep name and shape.
//!
//! Reading is lenient: another operator may have written here, and what cannot be read is as good as absent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions::Condition;

/// What the operator last saw and did. Written by the operator alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamingPipelineStatus {
    /// Generation of the spec that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub observed_generation: Option<i64>,

    /// The conditions of the pipeline: Rendered, Applied, Available, Progressing, RolloutPaused, Ready, Reconciling,
    /// Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,

    /// MD5 digest of the config text of the spec's revision, as in the Pods' annotation configVersion.
    #[serde(rename = "config_version", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub config_version: Option<String>,

    /// Namespace in which the Pods run.
    #[serde(rename = "workload_namespace", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub workload_namespace: Option<String>,

    /// Number of Pods wanted in each workload set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SetReplicas")]
    pub replicas: Option<SetReplicas>,

    /// Highest generation given out for each ordinal of each workload set; no Pod gets a lower one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SetGenerations")]
    pub generations: Option<SetGenerations>,

    /// The Pods, unhealthy ones first. Lists are cut at 50 entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PodsSummary")]
    pub pods: Option<PodsSummary>,

    /// Number of live Pods (neither terminating nor ended) of both sets; what the scale subresource reports.
    #[serde(default)]
    pub total_replicas: i32,

    /// Number of live Pods that are Ready.
    #[serde(default)]
    pub ready_replicas: i32,

    /// Number of live Pods of the spec's revision.
    #[serde(default)]
    pub updated_replicas: i32,

    /// Number of live Pods that have been Ready for minReadySeconds; two Pods of one ordinal count once.
    #[serde(default)]
    pub available_replicas: i32,

    /// Number of Pods that are being deleted and have not ended yet.
    #[serde(default)]
    pub terminating_replicas: i32,

    /// Label selector of the Pods, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub selector: Option<String>,

    /// Revision that last completed: every wanted Pod was of it and available. Failed Pods return to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub current_revision: Option<String>,

    /// Revision of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub update_revision: Option<String>,

    /// Where the rollout stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RolloutStatus")]
    pub rollout: Option<RolloutStatus>,
}

/// Number of Pods wanted in each workload set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SetReplicas {
    /// Number of Pods wanted in the primary set.
    #[serde(default)]
    pub primary: i32,
    /// Number of Pods wanted in the canary set; absent without a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub canary: Option<i32>,
}

/// Highest generation of each ordinal, by workload set. The keys are ordinals, decimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SetGenerations {
    /// Highest generation of each ordinal of the primary set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, i32>")]
    pub primary: BTreeMap<String, u16>,
    /// Highest generation of each ordinal of the canary set; absent when there never was a canary.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, i32>")]
    pub canary: BTreeMap<String, u16>,
}

/// The Pods of one or of both workload sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodsSummary {
    /// Names of the live Pods, sorted, at most 50.
    #[serde(default)]
    pub child_pods: Vec<String>,
    /// Number of Pods wanted.
    #[serde(default)]
    pub desired_replicas: i32,
    /// Number of ordinals with a Ready Pod.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods that are not as they should be, at most 50.
    #[serde(default)]
    pub unhealthy_pods: Vec<PodReport>,
    /// Pods that no replacement can help, at most 50.
    #[serde(default)]
    pub permanent_errors: Vec<PodReport>,
    /// The same for each workload set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SetSummaries")]
    pub sets: Option<SetSummaries>,
}

/// The Pods of each workload set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SetSummaries {
    /// The Pods of the primary set.
    #[serde(default)]
    pub primary: SetSummary,
    /// The Pods of the canary set; absent without a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SetSummary")]
    pub canary: Option<SetSummary>,
}

/// The Pods of one workload set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetSummary {
    /// Names of the live Pods of the set, sorted, at most 50.
    #[serde(default)]
    pub child_pods: Vec<String>,
    /// Number of Pods wanted in the set.
    #[serde(default)]
    pub desired_replicas: i32,
    /// Number of ordinals of the set with a Ready Pod.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods of the set that are not as they should be, at most 50.
    #[serde(default)]
    pub unhealthy_pods: Vec<PodReport>,
    /// Pods of the set that no replacement can help, at most 50.
    #[serde(default)]
    pub permanent_errors: Vec<PodReport>,
}

/// One Pod that needs attention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// Name of the Pod.
    pub name: String,
    /// Whether the Pod is Ready.
    #[serde(default)]
    pub ready: bool,
    /// Phase of the Pod; Unknown when it has none.
    #[serde(default)]
    pub phase: String,
    /// Ordinal of the Pod within its set, decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ordinal: Option<String>,
    /// Why the Pod is reported, in one word: the kubelet's reason or the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// Why the Pod is reported, in the kubelet's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub message: Option<String>,
    /// True when replacing the Pod cannot help, and only a person can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permanent: bool,
    /// Workload set of the Pod: primary or canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub workload_set: Option<String>,
    /// Number of failures in a row that led to this Pod and its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub failures: Option<u32>,
    /// When the Pod is replaced, RFC 3339; absent when that is not planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub next_try: Option<String>,
}

/// Where the rollout of the spec's revision stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    /// Where the rollout stands, in one word: Complete, Progressing, AwaitingAnalysis, Paused, Suspended, Failed,
    /// RolledBack, Stalled.
    #[serde(default)]
    pub phase: String,
    /// What holds the rollout now; empty when nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<RolloutHold>,
    /// Revision whose gate between canary and primary Pods has been opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub gate_opened_for: Option<String>,
    /// Revision that failed or was aborted; it is not rolled out while it is the spec's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FailedRevision")]
    pub failed_revision: Option<FailedRevision>,
    /// When an updated Pod last became available, or the gate opened, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub last_progress_time: Option<String>,
    /// Revision to which an edit of the spec returns, although it is the one that last completed; absent once every Pod is
    /// of it again and available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub returns_to: Option<String>,
    /// The spec's revision, when the annotation abort names it and has been looked at: it does nothing more until it is
    /// removed and set again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub answered_abort: Option<String>,
    /// Since when no primary Pod has been available while some are wanted, RFC 3339; only with a canary. After some
    /// minutes of this the gate no longer holds, for there is nothing left to protect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub no_primary_since: Option<String>,
}

/// One thing that holds a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RolloutHold {
    /// Who holds: spec, gate, deadline, or a RolloutAnalysis as `rolloutanalysis/<name>`.
    #[serde(default)]
    pub by: String,
    /// Why, in one word.
    #[serde(default)]
    pub reason: String,
    /// Since when, RFC 3339.
    #[serde(default)]
    pub since: String,
    /// Why, in a sentence.
    #[serde(default)]
    pub message: String,
}

/// A revision that failed or was aborted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FailedRevision {
    /// Name of the revision that failed or was aborted.
    #[serde(default)]
    pub name: String,
    /// Why it failed, in one word.
    #[serde(default)]
    pub reason: String,
    /// When it failed, RFC 3339.
    #[serde(default)]
    pub time: String,
}
