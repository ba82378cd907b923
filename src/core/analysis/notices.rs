//! What happened between two statuses of an analysis that a person wants to be told. Must never tell one thing twice.

use crate::api::analysis_status::Verdict;
use crate::api::{AnalysisConditionType, AnalysisNotice, ConditionStatus, RolloutAnalysisStatus};

use super::status::previous;
use super::target::short;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What.
    pub reason: AnalysisNotice,
    /// In a sentence.
    pub message: String,
    /// Whether it is told of the target too.
    pub of_target: bool,
}

/// What happened between two statuses that were written one after the other.
#[must_use]
pub fn notices(before: &RolloutAnalysisStatus, now: &RolloutAnalysisStatus) -> Vec<Notice> {
    let status = |of, type_| previous(of, type_).map_or("", |condition| condition.status.as_str());
    let message = |type_| previous(now, type_).map_or_else(String::new, |condition| condition.message.clone());
    let begins = |type_| {
        let holds = ConditionStatus::True.as_str();
        status(before, type_) != holds && status(now, type_) == holds
    };
    let ends = |type_| {
        let (holds, not) = (ConditionStatus::True.as_str(), ConditionStatus::False.as_str());
        status(before, type_) == holds && status(now, type_) == not
    };
    let revision = now.target_revision.as_deref().map_or("", short);
    let mut told = Vec::new();
    let mut tell = |reason, message, of_target| {
        told.push(Notice {
            reason,
            message,
            of_target,
        });
    };
    let (paused, regression, unavailable) = (
        AnalysisConditionType::RolloutPaused,
        AnalysisConditionType::RegressionDetected,
        AnalysisConditionType::MetricsUnavailable,
    );
    if begins(paused) {
        tell(AnalysisNotice::RolloutPaused, message(paused), true);
    } else if begins(regression) && status(now, paused) != ConditionStatus::True.as_str() {
        tell(AnalysisNotice::RegressionDetected, message(regression), true);
    }
    if ends(paused) {
        tell(AnalysisNotice::RolloutResumed, resumed(before, now), true);
    } else if ends(regression) && now.rollout_ended {
        let message = format!("the metrics hold again (revision {revision})");
        tell(AnalysisNotice::RegressionEnded, message, true);
    }
    if begins(unavailable) {
        tell(AnalysisNotice::MetricsUnavailable, message(unavailable), false);
    }
    if ends(unavailable) {
        tell(AnalysisNotice::MetricsAvailable, message(unavailable), false);
    }
    if before.verdict != Some(Verdict::Passed) && now.verdict == Some(Verdict::Passed) {
        let message = format!("{} measurements passed (revision {revision})", now.passes);
        tell(AnalysisNotice::AnalysisPassed, message, false);
    }
    told
}

/// Why a rollout is held no longer.
fn resumed(before: &RolloutAnalysisStatus, now: &RolloutAnalysisStatus) -> String {
    let revision = now.target_revision.as_deref().map_or("", short);
    if before.target_uid != now.target_uid {
        "the target is another one".to_owned()
    } else if before.target_revision != now.target_revision {
        format!("the target is at another revision ({revision})")
    } else if before.resumed_at != now.resumed_at {
        format!("a person resumed it (revision {revision})")
    } else if now.rollout_ended {
        format!("the rollout has ended (revision {revision})")
    } else {
        "the analysis or its target was edited".to_owned()
    }
}

#[cfg(test)]
mod tests;
