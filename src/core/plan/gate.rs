//! The gate between the canary and the primaries.
//!
//! It exists only for a pipeline that wants a canary and has a revision to return to. Must never be shut again once it
//! was opened for a revision, while that stays the spec's.

use crate::core::names::Revision;

use super::AnalysisVerdict;
use super::fleet::{Fleet, Slot};
use super::goal::Goal;
use super::order;

/// What the gate is judged by, besides the Pods.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent conditions, each named by the rule"
)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions<'a> {
    /// Revision for which it was opened before.
    pub(super) opened_for: Option<&'a Revision>,
    /// A person opens it.
    pub(super) promoted: bool,
    /// The wanted revision has completed before: this is a rollback.
    pub(super) completed: bool,
    /// No primary Pod has been available for so long that there is nothing left to protect.
    pub(super) nothing_to_protect: bool,
    /// What the analyses say.
    pub(super) analysis: &'a AnalysisVerdict,
    /// Whether one is asked for.
    pub(super) require_analysis: bool,
}

/// How the gate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// There is none, or it is open for as long as its reason holds.
    Open,
    /// It opens now; that is recorded.
    Opens,
    /// It waits for the canary to be available.
    AwaitingCanary,
    /// It waits only for an analysis.
    AwaitingAnalysis(String),
}

impl Gate {
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Opens)
    }
}

/// How the gate is for the wanted revision.
pub(super) fn judge(goal: &Goal, fleet: &Fleet<'_>, conditions: &Conditions<'_>) -> Gate {
    let exists = goal.canaries > 0 && goal.current.is_some();
    if !exists || conditions.opened_for == Some(&goal.wanted) {
        return Gate::Open;
    }
    let slot = order::canary(goal).and_then(|place| fleet.slot(place));
    let serves = |slot: &Slot<'_>| slot.live.iter().any(|pod| pod.available && goal.has_wanted(pod));
    let canary = slot.is_some_and(serves);
    let missing = missing_analysis(conditions);
    if conditions.promoted || (canary && missing.is_none()) {
        return Gate::Opens;
    }
    let back = goal.current.as_ref() == Some(&goal.wanted) || conditions.completed;
    if back || conditions.nothing_to_protect {
        return Gate::Open;
    }
    match missing {
        Some(message) if canary => Gate::AwaitingAnalysis(message),
        _ => Gate::AwaitingCanary,
    }
}

fn missing_analysis(conditions: &Conditions<'_>) -> Option<String> {
    match conditions.analysis {
        AnalysisVerdict::Passed => None,
        AnalysisVerdict::None => conditions
            .require_analysis
            .then(|| "rollout.requireAnalysis is set, and no RolloutAnalysis names the pipeline".to_owned()),
        AnalysisVerdict::Pending(message) | AnalysisVerdict::Failed(message) => Some(message.clone()),
    }
}
