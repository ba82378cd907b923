//! What an analysis sees of its target, whatever kind that is.
//!
//! Must never tell more than one moment: a measurement that began at one counts only if its uid and revision are still
//! those at its end.

use jiff::Timestamp;

/// The target of an analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It is there.
    Found(TargetFacts),
    /// It is there, and has no revision yet: no pass has looked at it, or its spec could never be rendered.
    Unseen,
    /// It is not there.
    Missing,
    /// The operator runs without rights on Deployments.
    Off,
    /// The API server refuses to show it, in its words.
    Forbidden(String),
}

/// What is known of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Its uid.
    pub uid: String,
    /// Its revision: `status.updateRevision` of a pipeline, SHA-256 of `.spec.template` of a Deployment.
    pub revision: String,
    /// Whether the rollout of that revision is under way.
    pub rolling: bool,
    /// Whether a Pod of that revision is available.
    pub available: bool,
    /// Whether a failed analysis can hold the rollout: there is something to hold on to.
    pub can_hold: bool,
    /// A person's order to let a revision try again, and its time.
    pub resume: Option<(String, Timestamp)>,
    /// Names of its live Pods of that revision.
    pub updated_pods: Vec<String>,
    /// Names of its live Pods of the revision before.
    pub current_pods: Vec<String>,
}

/// How a revision is shown where there is little room.
#[must_use]
pub fn short(revision: &str) -> &str {
    revision.get(..10).unwrap_or(revision)
}
