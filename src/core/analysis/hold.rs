//! Whether an analysis holds its Deployment at `spec.paused`, lets it go, or leaves it alone.
//!
//! Each analysis holds under a field manager of its own, so the API server knows who holds, and a pause ends when the last
//! of them lets go. Must never undo a pause that somebody else set, and never pause a template again that a person resumed.

use crate::api::analysis_status::HeldDeployment;
use crate::api::deployment::StoredDeployment;
use crate::api::meta::FIELD_MANAGER_ANALYSIS_PREFIX;
use crate::api::rollout_analysis::AnalysisMode;

use super::run::{Judgement, Run};
use super::valid::ValidAnalysis;

/// What is to be done to a Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldStep {
    /// Nothing; it is not held by this analysis.
    Leave,
    /// It is held as it should be.
    Keep,
    /// Hold it.
    Hold,
    /// Let it go.
    Release,
    /// It was held, and a person resumed it.
    ResumedByUser,
}

/// The field manager with which the analysis of that uid holds.
#[must_use]
pub fn field_manager(analysis_uid: &str) -> String {
    format!("{FIELD_MANAGER_ANALYSIS_PREFIX}{analysis_uid}")
}

/// Uid of the analysis that a field manager holds for.
#[must_use]
pub fn holder(field_manager: &str) -> Option<&str> {
    field_manager.strip_prefix(FIELD_MANAGER_ANALYSIS_PREFIX)
}

/// What is to be done to the target Deployment as it is now. `run` is of its revision; `held` is what the status says of an
/// earlier hold.
#[must_use]
pub fn decide(
    analysis_uid: &str,
    analysis: &ValidAnalysis,
    run: &Run,
    live: &StoredDeployment,
    held: Option<&HeldDeployment>,
) -> HoldStep {
    let wanted = analysis.mode == AnalysisMode::Enforce
        && run.verdict == Judgement::Failed
        && !run.ended
        && !run.resumed_by_user;
    let ours = live.spec.paused && live.is_paused_by(&field_manager(analysis_uid));
    let was_held = held.is_some_and(|held| {
        live.metadata.uid.as_ref() == Some(&held.uid) && run.revision.as_ref() == Some(&held.revision)
    });
    match (wanted, ours) {
        (true, true) => HoldStep::Keep,
        (true, false) if was_held => HoldStep::ResumedByUser,
        (true, false) => HoldStep::Hold,
        (false, true) => HoldStep::Release,
        (false, false) => HoldStep::Leave,
    }
}

#[cfg(test)]
mod tests;
