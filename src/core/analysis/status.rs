//! The status of an analysis, from its run and what was seen and done; and when writing it is due.
//!
//! All conditions are present from the first visit. Must never say that a rollout is held before it is.

use jiff::{SignedDuration, Timestamp};

use crate::api::analysis_status::{HeldDeployment, MetricStatus};
use crate::api::rollout_analysis::{AnalysisTarget, TargetKind};
use crate::api::{AnalysisConditionType, AnalysisReason, Condition, ConditionStatus, RolloutAnalysisStatus};
use crate::core::settings::{later, whole_seconds};

use super::answer::QueryError;
use super::judge::cut;
use super::run::{Judgement, NO_DATA_LIMIT, Run};
use super::target::{Target, TargetFacts, short};
use super::valid::ValidAnalysis;
use crate::api::rollout_analysis::{AnalysisMode, OnNoData};

/// Longest message of a condition, in characters.
const MESSAGE_CHARS_MAX: usize = 1000;
/// How long what nobody waits for (the last values and the history) is kept back from being written.
const WRITE_AT_MOST_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// What the status is computed from.
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    /// `metadata.generation` of the analysis.
    pub generation: Option<i64>,
    /// Its target, as far as that can be read.
    pub names: Option<&'a AnalysisTarget>,
    /// Its spec, or all faults of it.
    pub analysis: Result<&'a ValidAnalysis, &'a str>,
    /// Its target, as it was seen; `None` when the spec does not say which.
    pub target: Option<&'a Target>,
    /// What its measurements have come to.
    pub run: &'a Run,
    /// How it holds a Deployment.
    pub hold: &'a Hold,
    /// The status as written last.
    pub previous: &'a RolloutAnalysisStatus,
}

/// How an analysis holds a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// Not at all.
    #[default]
    None,
    /// It does.
    Held(HeldDeployment),
    /// What had to be written to the Deployment was refused, in the API server's words; what it held before it holds on.
    Refused(Option<HeldDeployment>, String),
}

impl Hold {
    /// What is held.
    #[must_use]
    pub const fn held(&self) -> Option<&HeldDeployment> {
        match self {
            Self::None => None,
            Self::Held(held) => Some(held),
            Self::Refused(held, _) => held.as_ref(),
        }
    }
}

/// The status.
#[must_use]
pub fn status(input: &StatusInput<'_>, now: Timestamp) -> RolloutAnalysisStatus {
    let run = input.run;
    let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    let (value, limit) = run.worst.clone().unzip();
    RolloutAnalysisStatus {
        observed_generation: input.generation,
        conditions: conditions(input, now),
        verdict: Some(run.shown_verdict()),
        failures: number(run.failures),
        passes: number(run.passes),
        no_data: number(run.no_data),
        last_verdict: run.last,
        target_uid: run.uid.clone(),
        target_revision: run.revision.clone(),
        started_at: time(run.started),
        resumed_at: time(run.resumed_at),
        resumed_revision: run.revision.clone().filter(|_| run.resumed_by_user),
        rollout_ended: run.ended,
        failing_in_a_row: number(run.failing),
        failed: run.failed.clone(),
        held: input.hold.held().cloned(),
        value,
        limit,
        metrics: run.metrics.clone(),
        measurements: run.measurements.clone(),
    }
}

/// Whether `next` is to be written over `previous`, which was written at `written` (`None`: not by this process).
#[must_use]
pub fn is_write_due(
    previous: &RolloutAnalysisStatus,
    next: &RolloutAnalysisStatus,
    written: Option<Timestamp>,
    now: Timestamp,
) -> bool {
    if previous == next {
        return false;
    }
    watched(previous) != watched(next) || written.is_none_or(|written| now >= later(written, WRITE_AT_MOST_EVERY))
}

/// What is written as soon as it changes: all but the last values, the history, and the words of conditions.
fn watched(status: &RolloutAnalysisStatus) -> RolloutAnalysisStatus {
    let conditions = status.conditions.iter().map(|condition| Condition {
        message: String::new(),
        ..condition.clone()
    });
    let metrics = status.metrics.iter().map(|metric| {
        let mut series = metric.series.clone();
        series.sort();
        MetricStatus {
            name: metric.name.clone(),
            series,
            ..MetricStatus::default()
        }
    });
    RolloutAnalysisStatus {
        conditions: conditions.collect(),
        metrics: metrics.collect(),
        measurements: Vec::new(),
        value: None,
        limit: None,
        failing_in_a_row: 0,
        ..status.clone()
    }
}

/// What a condition says, without the times.
struct Said {
    status: ConditionStatus,
    reason: AnalysisReason,
    message: String,
}

fn said(status: impl Into<ConditionStatus>, reason: AnalysisReason, message: impl Into<String>) -> Said {
    Said {
        status: status.into(),
        reason,
        message: message.into(),
    }
}

fn conditions(input: &StatusInput<'_>, now: Timestamp) -> Vec<Condition> {
    let all = AnalysisConditionType::ALL.iter();
    all.map(|type_| {
        let said = input.say(*type_);
        let before = previous(input.previous, *type_).filter(|before| before.status == said.status.as_str());
        Condition {
            type_: type_.as_str().to_owned(),
            status: said.status.as_str().to_owned(),
            observed_generation: input.generation,
            last_transition_time: before.map_or_else(
                || whole_seconds(now).to_string(),
                |before| before.last_transition_time.clone(),
            ),
            reason: said.reason.as_str().to_owned(),
            message: cut(&said.message, MESSAGE_CHARS_MAX),
        }
    })
    .collect()
}

/// A condition of a status.
#[must_use]
pub fn previous(status: &RolloutAnalysisStatus, type_: AnalysisConditionType) -> Option<&Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.type_ == type_.as_str())
}

/// What keeps an analysis from its work.
struct Fault {
    reason: AnalysisReason,
    message: String,
    /// Whether a person has to do something.
    stalls: bool,
}

impl StatusInput<'_> {
    fn say(&self, type_: AnalysisConditionType) -> Said {
        match type_ {
            AnalysisConditionType::Ready => self.ready(),
            AnalysisConditionType::TargetFound => self.target_found(),
            AnalysisConditionType::MetricsUnavailable => self.metrics_unavailable(),
            AnalysisConditionType::RegressionDetected => self.regression(),
            AnalysisConditionType::RolloutPaused => self.rollout_paused(),
            AnalysisConditionType::Stalled => match self.fault().filter(|fault| fault.stalls) {
                Some(fault) => said(true, fault.reason, fault.message),
                None => as_expected("it goes on by itself"),
            },
        }
    }

    /// What keeps it from its work, the first of all.
    fn fault(&self) -> Option<Fault> {
        let fault = |reason, message: String, stalls| Fault {
            reason,
            message,
            stalls,
        };
        if let Err(faults) = self.analysis {
            return Some(fault(AnalysisReason::InvalidSpec, faults.to_owned(), true));
        }
        if let Some(found) = self.target.and_then(|target| self.target_fault(target)) {
            return Some(found);
        }
        if let Hold::Refused(_, words) = self.hold {
            return Some(fault(AnalysisReason::Forbidden, words.clone(), true));
        }
        self.run.error.as_ref().map(|error| match error {
            QueryError::Unavailable(words) => fault(AnalysisReason::MetricsUnavailable, words.clone(), false),
            QueryError::Rejected(words) => fault(AnalysisReason::QueryRejected, words.clone(), true),
            QueryError::UnknownSource(words) => fault(AnalysisReason::UnknownSource, words.clone(), true),
        })
    }

    fn target_fault(&self, target: &Target) -> Option<Fault> {
        let name = self.target_name();
        let (reason, message, stalls) = match target {
            Target::Found(_) | Target::Unseen => return None,
            Target::Missing => (
                AnalysisReason::TargetMissing,
                format!("{name} does not exist; nothing is asked"),
                false,
            ),
            Target::Off => {
                let message = format!("{name} is not looked at: the operator runs with --deployment-targets=false");
                (AnalysisReason::DeploymentTargetsOff, message, true)
            }
            Target::Forbidden(words) => (AnalysisReason::Forbidden, words.clone(), true),
        };
        Some(Fault {
            reason,
            message,
            stalls,
        })
    }

    fn target_name(&self) -> String {
        self.names.map_or_else(String::new, |target| {
            let kind = match target.kind {
                TargetKind::StreamingPipeline => "StreamingPipeline",
                TargetKind::Deployment => "Deployment",
            };
            format!("{kind} {}", target.name)
        })
    }

    fn facts(&self) -> Option<&TargetFacts> {
        match self.target {
            Some(Target::Found(facts)) => Some(facts),
            _ => None,
        }
    }

    fn ready(&self) -> Said {
        if let Some(fault) = self.fault() {
            return said(false, fault.reason, fault.message);
        }
        let Ok(analysis) = self.analysis else {
            return as_expected("");
        };
        let run = self.run;
        let regression = self.regression();
        if regression.status == ConditionStatus::True {
            return said(false, AnalysisReason::RegressionDetected, regression.message);
        }
        let counts = format!(
            "{} of {} passes, {} of {} failures",
            run.passes, analysis.required_passes, run.failures, analysis.failure_limit
        );
        if run.no_data >= NO_DATA_LIMIT && analysis.on_no_data == OnNoData::Pause {
            let message = format!("{counts}; the last measurements had no data");
            return said(false, AnalysisReason::NoData, message);
        }
        if run.verdict == Judgement::Passed {
            return said(true, AnalysisReason::Passed, counts);
        }
        if run.measured_at.is_none() || self.facts().is_some_and(|facts| !facts.available) {
            let revision = run.revision.as_deref().map_or("", short);
            let message = format!("{counts}; waits for a Pod of revision {revision} that is available");
            return said(true, AnalysisReason::AwaitingRollout, message);
        }
        said(true, AnalysisReason::Measuring, counts)
    }

    fn target_found(&self) -> Said {
        match self.target {
            Some(Target::Found(facts)) => {
                let message = format!("{} at revision {}", self.target_name(), short(&facts.revision));
                said(true, AnalysisReason::TargetFound, message)
            }
            Some(Target::Unseen) => {
                let message = format!("{} has no revision yet", self.target_name());
                said(true, AnalysisReason::TargetFound, message)
            }
            Some(target) => {
                let fault = self.target_fault(target);
                let status = match target {
                    Target::Missing => ConditionStatus::False,
                    _ => ConditionStatus::Unknown,
                };
                fault.map_or_else(|| as_expected(""), |fault| said(status, fault.reason, fault.message))
            }
            None => said(
                ConditionStatus::Unknown,
                AnalysisReason::InvalidSpec,
                self.analysis.err().unwrap_or_default(),
            ),
        }
    }

    fn metrics_unavailable(&self) -> Said {
        match (&self.run.error, self.run.last) {
            (Some(QueryError::Unavailable(words)), _) => said(true, AnalysisReason::MetricsUnavailable, words),
            (Some(QueryError::Rejected(words)), _) => said(true, AnalysisReason::QueryRejected, words),
            (Some(QueryError::UnknownSource(words)), _) => {
                said(ConditionStatus::Unknown, AnalysisReason::UnknownSource, words)
            }
            (None, Some(_)) => said(false, AnalysisReason::MetricsAvailable, "every metrics source answered"),
            (None, None) => as_expected("nothing was asked yet"),
        }
    }

    fn regression(&self) -> Said {
        let Ok(analysis) = self.analysis else {
            return as_expected("");
        };
        let run = self.run;
        if !run.is_regressed(analysis) {
            return as_expected("the metrics hold, as far as they have been measured");
        }
        let revision = run.revision.as_deref().map_or("", short);
        let message = match &run.failed {
            Some(failed) if !run.ended => format!("{} (revision {revision})", failed.message),
            _ => {
                let limit = analysis.failure_limit;
                format!(
                    "the last {limit} measurements failed; the rollout of revision {revision} has ended, nothing is held"
                )
            }
        };
        said(true, AnalysisReason::RegressionDetected, message)
    }

    fn rollout_paused(&self) -> Said {
        if self.is_pausing() {
            let regression = self.regression();
            let message = format!("metric regression detected: {}", regression.message);
            return said(true, AnalysisReason::RegressionDetected, message);
        }
        if self.run.resumed_by_user {
            let revision = self.run.revision.as_deref().map_or("", short);
            let message = format!("a person resumed revision {revision}; it is not paused again");
            return said(false, AnalysisReason::ResumedByUser, message);
        }
        as_expected("this analysis holds nothing")
    }

    fn is_pausing(&self) -> bool {
        let enforces = self
            .analysis
            .is_ok_and(|analysis| analysis.mode == AnalysisMode::Enforce);
        if self.names.is_some_and(|target| target.kind == TargetKind::Deployment) {
            return self.hold.held().is_some() && self.run.verdict == Judgement::Failed;
        }
        let can_hold = self.facts().is_some_and(|facts| facts.can_hold);
        enforces && can_hold && self.run.verdict == Judgement::Failed && !self.run.ended
    }
}

fn as_expected(message: &str) -> Said {
    said(false, AnalysisReason::AsExpected, message)
}

#[cfg(test)]
mod tests;
