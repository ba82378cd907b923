//! What all analyses of a pipeline say of its update revision together.
//!
//! Must never take what an analysis said of another revision, or of an earlier attempt at this one, for its word on this.

use jiff::Timestamp;

use crate::api::analysis_status::Verdict;
use crate::api::rollout_analysis::AnalysisMode;
use crate::api::{AnalysisConditionType, Condition, ConditionStatus, RolloutAnalysisStatus};
use crate::core::plan::AnalysisVerdict;

use super::run::NO_DATA_LIMIT;
use super::target::short;
use super::valid::ValidAnalysis;

/// An analysis that names the pipeline.
#[derive(Clone, Debug)]
pub struct Guard<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its spec; `None` when that breaks a rule, so that nothing is measured.
    pub analysis: Option<&'a ValidAnalysis>,
    /// Its status.
    pub status: &'a RolloutAnalysisStatus,
    /// Whether it has not begun with this attempt at the revision.
    pub is_behind: bool,
}

/// What the analyses are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Uid of the pipeline.
    pub uid: &'a str,
    /// Its update revision.
    pub revision: &'a str,
    /// A person's order to let a revision try again, and its time.
    pub resume: Option<(&'a str, Timestamp)>,
    /// The time.
    pub now: Timestamp,
}

/// What they say together. One that failed outweighs all others, one that has not passed those that have.
#[must_use]
pub fn verdict(guards: &[Guard<'_>], question: &Question<'_>) -> AnalysisVerdict {
    let says = guards.iter().filter_map(|guard| guard.says(question));
    let (mut any, mut pending, mut failed) = (false, Vec::new(), Vec::new());
    for said in says {
        any = true;
        match said {
            Said::Passed => {}
            Said::Pending(message) => pending.push(message),
            Said::Failed(message) => failed.push(message),
        }
    }
    if !failed.is_empty() {
        AnalysisVerdict::Failed(failed.join("; "))
    } else if !pending.is_empty() {
        AnalysisVerdict::Pending(pending.join("; "))
    } else if any {
        AnalysisVerdict::Passed
    } else {
        AnalysisVerdict::None
    }
}

/// What one says.
enum Said {
    Passed,
    Pending(String),
    Failed(String),
}

impl Guard<'_> {
    /// `None`: it has no say.
    fn says(&self, question: &Question<'_>) -> Option<Said> {
        let name = self.name;
        let Some(analysis) = self.analysis else {
            return Some(Said::Pending(format!("analysis {name} has a spec that cannot be used")));
        };
        match analysis.mode {
            AnalysisMode::ReportOnly => return None,
            AnalysisMode::Enforce => {}
        }
        let status = self.status;
        let is_of_it = status.target_uid.as_deref() == Some(question.uid)
            && status.target_revision.as_deref() == Some(question.revision);
        if !is_of_it || self.is_behind || self.is_to_resume(question) {
            let revision = short(question.revision);
            let message = format!("analysis {name} has not begun to measure revision {revision}");
            return Some(Said::Pending(message));
        }
        Some(match status.verdict {
            Some(Verdict::Passed) => Said::Passed,
            Some(Verdict::Failed) => {
                let why = status.failed.as_ref().map_or("", |failed| failed.message.as_str());
                Said::Failed(format!("analysis {name}: metric regression detected: {why}"))
            }
            Some(Verdict::Pending | Verdict::Measuring | Verdict::Unavailable) | None => {
                Said::Pending(self.progress(analysis))
            }
        })
    }

    /// Whether there is an order to resume this revision that the analysis has not obeyed, of a time that it will obey.
    fn is_to_resume(&self, question: &Question<'_>) -> bool {
        let time = |text: &String| text.parse::<Timestamp>().ok();
        let failed = self.status.failed.as_ref().and_then(|failed| time(&failed.time));
        let resumed = self.status.resumed_at.as_ref().and_then(time);
        question.resume.is_some_and(|(revision, order)| {
            let is_new = resumed != Some(order) && failed.is_none_or(|failed| order >= failed);
            revision == question.revision && order <= question.now && is_new
        })
    }

    /// How far it is.
    fn progress(&self, analysis: &ValidAnalysis) -> String {
        let (name, status) = (self.name, self.status);
        let passes = format!("{} of {} passes", status.passes, analysis.required_passes);
        let unavailable = condition(status, AnalysisConditionType::MetricsUnavailable)
            .filter(|condition| condition.status != ConditionStatus::False.as_str());
        if let Some(unavailable) = unavailable {
            let (since, why) = (&unavailable.last_transition_time, &unavailable.message);
            return format!("analysis {name} has {passes}; metrics unavailable since {since}: {why}");
        }
        if u32::try_from(status.no_data).is_ok_and(|no_data| no_data >= NO_DATA_LIMIT) {
            return format!("analysis {name} has {passes}; its metrics have no data");
        }
        format!("analysis {name} has {passes}")
    }
}

/// A condition of an analysis.
fn condition(status: &RolloutAnalysisStatus, type_: AnalysisConditionType) -> Option<&Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.type_ == type_.as_str())
}

/// Whether what an analysis says of its pipeline may have changed between two of its statuses.
#[must_use]
pub fn may_say_otherwise(before: &RolloutAnalysisStatus, now: &RolloutAnalysisStatus) -> bool {
    let of = |status: &RolloutAnalysisStatus| {
        let unavailable = condition(status, AnalysisConditionType::MetricsUnavailable);
        (
            status.target_uid.clone(),
            status.target_revision.clone(),
            status.verdict,
            status.passes,
            status.no_data,
            status.resumed_at.clone(),
            unavailable.map(|condition| (condition.status.clone(), condition.reason.clone())),
        )
    };
    of(before) != of(now)
}

#[cfg(test)]
mod tests;
