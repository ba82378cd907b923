//! `spec.rollout`: how a change of the spec reaches the Pods.

#![allow(
    unreachable_pub,
    reason = "the KubeSchema derive repeats the type inside a private block"
)]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a change of the spec reaches the Pods, and what happens when the change does not work.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// Holds a rollout where it stands, until it is false again. Healing of failed Pods and scaling go on meanwhile.
    /// Defaults to false.
    #[serde(default)]
    pub paused: bool,

    /// How many Pods may be unavailable during a rollout: a number of at least 1 (such as 2), or a percentage of
    /// replicas from 1% to 100% (such as 10%), rounded down. It counts as at least 1 and at most replicas - 1. Pods that
    /// are unavailable for other reasons count as well. Defaults to 25%.
    #[serde(default = "default_max_unavailable")]
    #[schemars(schema_with = "max_unavailable_schema")]
    #[x_kube(validation = ("type(self) == int ? self >= 1 && self <= 2147483647 : self.matches('^([1-9][0-9]?|100)%$')", "must be an integer of at least 1, or a percentage from 1% to 100%"))]
    pub max_unavailable: IntOrString,

    /// Seconds that a Pod must be Ready, without a break, before it counts as available: 0 to 86400. Defaults to 0, as
    /// soon as it is Ready.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86400))]
    pub min_ready_seconds: i32,

    /// Seconds without progress after which a rollout is reported as failed (ProgressDeadlineExceeded) and does what
    /// onFailure says: 1 to 604800. Defaults to 600.
    #[serde(default = "default_progress_deadline_seconds")]
    #[schemars(range(min = 1, max = 604_800))]
    pub progress_deadline_seconds: i32,

    /// When the place of a Pod is filled again: TerminatingOrFailed (as soon as the old Pod is being deleted or has
    /// ended) or Failed (only when the old Pod is gone or has ended, so that an identity never runs twice; with one
    /// replica no consumer runs meanwhile). Defaults to TerminatingOrFailed.
    #[serde(default)]
    pub pod_replacement_policy: PodReplacementPolicy,

    /// Pods created before this time are replaced, within the budget and without a new revision: a time as in RFC 3339,
    /// such as 2025-01-31T12:00:00Z. One in the future waits until it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time_schema")]
    pub restart_at: Option<String>,

    /// With a canary: the primary Pods are not updated until at least one RolloutAnalysis of this pipeline has passed
    /// for the revision. Defaults to false.
    #[serde(default)]
    pub require_analysis: bool,

    /// What a failed analysis or a passed deadline does: Pause (hold where it stands) or Rollback (return to the last
    /// revision that completed). Defaults to Pause.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// When the place of a Pod is filled again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum PodReplacementPolicy {
    /// As soon as the old Pod is being deleted, or has ended.
    #[default]
    TerminatingOrFailed,
    /// Only when the old Pod is gone, or has ended.
    Failed,
}

/// What a failed analysis or a passed deadline does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum OnFailure {
    /// Hold where it stands.
    #[default]
    Pause,
    /// Return to the last revision that completed.
    Rollback,
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            paused: false,
            max_unavailable: default_max_unavailable(),
            min_ready_seconds: 0,
            progress_deadline_seconds: default_progress_deadline_seconds(),
            pod_replacement_policy: PodReplacementPolicy::default(),
            restart_at: None,
            require_analysis: false,
            on_failure: OnFailure::default(),
        }
    }
}

fn default_max_unavailable() -> IntOrString {
    IntOrString::String("25%".to_owned())
}

fn default_progress_deadline_seconds() -> i32 {
    600
}

fn max_unavailable_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"x-kubernetes-int-or-string": true})
}

fn date_time_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}
