//! The run of an analysis over one revision of its target: what its measurements have come to, and what follows from the
//! next one.
//!
//! All of it lies in the status, so that a restart or another leader goes on where the last one stood. Must never let an
//! outage of a metrics source count for or against a revision, and never touch a verdict that is latched.

use jiff::Timestamp;

use crate::api::analysis_status::{AnalysisFailure, Measurement, MetricStatus, Outcome, Verdict};
use crate::api::rollout_analysis::OnNoData;
use crate::api::{AnalysisConditionType, AnalysisReason, RolloutAnalysisStatus};
use crate::core::settings::whole_seconds;

use super::answer::QueryError;
use super::judge::{Measured, Reading, number};
use super::target::TargetFacts;
use super::valid::ValidAnalysis;

/// How many measurements are kept.
const MEASUREMENTS_MAX: usize = 10;
/// From how many measurements without data in a row on `onNoData` applies.
pub const NO_DATA_LIMIT: u32 = 3;

/// What the measurements of one revision have come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Uid of the target; `None` before there was one.
    pub uid: Option<String>,
    /// Revision of the target.
    pub revision: Option<String>,
    /// When a Pod of the revision was first seen available.
    pub started: Option<Timestamp>,
    /// Whether the rollout of the revision has ended. It stays so, though a node may go later.
    pub ended: bool,
    /// Failing measurements.
    pub failures: u32,
    /// Passing measurements, at most `requiredPasses`.
    pub passes: u32,
    /// Measurements without data in a row.
    pub no_data: u32,
    /// Failing measurements in a row.
    pub failing: u32,
    /// What they say, but for an outage: Pending, Measuring, Passed or Failed.
    pub verdict: Judgement,
    /// What failed it, with verdict Failed.
    pub failed: Option<AnalysisFailure>,
    /// Outcome of the last measurement.
    pub last: Option<Outcome>,
    /// Why the last measurement got no answer, with outcome Error.
    pub error: Option<QueryError>,
    /// When the last measurement began.
    pub measured_at: Option<Timestamp>,
    /// Time of the last order to resume that was obeyed.
    pub resumed_at: Option<Timestamp>,
    /// Whether a person lifted the pause of this revision.
    pub resumed_by_user: bool,
    /// The worst value of the last measurement that had one, and its limit.
    pub worst: Option<(String, String)>,
    /// What was last seen of each metric.
    pub metrics: Vec<MetricStatus>,
    /// The last measurements, newest last.
    pub measurements: Vec<Measurement>,
}

/// The verdict without what an outage makes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judgement {
    /// Neither passed nor failed.
    #[default]
    Open,
    /// Passed.
    Passed,
    /// Failed.
    Failed,
}

/// Why a run began afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afresh {
    /// The first run, or another target.
    Target,
    /// Another revision, or a new attempt at the same one.
    Revision,
    /// A person's order.
    Resumed,
}

impl Run {
    /// As an earlier visit left it in the status. Reading is lenient: what cannot be read is as good as absent.
    #[must_use]
    pub fn read(status: &RolloutAnalysisStatus) -> Self {
        let count = |number: i32| u32::try_from(number).unwrap_or(0);
        let time = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
        let measured_at = status.measurements.last().and_then(|last| last.time.parse().ok());
        Self {
            uid: status.target_uid.clone(),
            revision: status.target_revision.clone(),
            started: time(&status.started_at),
            ended: status.rollout_ended,
            failures: count(status.failures),
            passes: count(status.passes),
            no_data: count(status.no_data),
            failing: count(status.failing_in_a_row),
            verdict: match status.verdict {
                Some(Verdict::Passed) => Judgement::Passed,
                Some(Verdict::Failed) => Judgement::Failed,
                Some(Verdict::Pending | Verdict::Measuring | Verdict::Unavailable) | None => Judgement::Open,
            },
            failed: status.failed.clone(),
            last: status.last_verdict,
            error: error(status).filter(|_| status.last_verdict == Some(Outcome::Error)),
            measured_at,
            resumed_at: time(&status.resumed_at),
            resumed_by_user: status.resumed_revision.is_some() && status.resumed_revision == status.target_revision,
            worst: status.value.clone().zip(status.limit.clone()),
            metrics: status.metrics.clone(),
            measurements: status.measurements.clone(),
        }
    }

    /// The verdict as the status has it.
    #[must_use]
    pub fn shown_verdict(&self) -> Verdict {
        match (self.verdict, self.last, self.started) {
            (Judgement::Failed, _, _) => Verdict::Failed,
            (Judgement::Passed, _, _) => Verdict::Passed,
            (Judgement::Open, Some(Outcome::Error), _) => Verdict::Unavailable,
            (Judgement::Open, _, Some(_)) => Verdict::Measuring,
            (Judgement::Open, _, None) => Verdict::Pending,
        }
    }

    /// Whether the metrics say that the revision is worse than it may be. While it rolls out that is its verdict, afterwards
    /// what the last `failureLimit` measurements say that had a value.
    #[must_use]
    pub fn is_regressed(&self, analysis: &ValidAnalysis) -> bool {
        if self.ended {
            self.failing >= analysis.failure_limit
        } else {
            self.verdict == Judgement::Failed
        }
    }

    /// The run as the target is seen now: a fresh one for another uid or revision, for a new attempt at the same revision
    /// (`again`), and for an order to resume.
    #[must_use]
    pub fn enter(
        self,
        analysis: &ValidAnalysis,
        target: &TargetFacts,
        again: bool,
        now: Timestamp,
    ) -> (Self, Option<Afresh>) {
        let order = self.order(target, now);
        let afresh = if self.uid.as_ref() != Some(&target.uid) {
            Some(Afresh::Target)
        } else if self.revision.as_ref() != Some(&target.revision) || again {
            Some(Afresh::Revision)
        } else {
            order.map(|_| Afresh::Resumed)
        };
        let mut run = match afresh {
            Some(_) => Self {
                uid: Some(target.uid.clone()),
                revision: Some(target.revision.clone()),
                // An order that is there already is of no use to a run that has not counted anything.
                resumed_at: order.or(self.resumed_at),
                ..self.without_target()
            },
            None => self,
        };
        if target.available && run.started.is_none() {
            run.started = Some(whole_seconds(now));
        }
        run.ended |= !target.rolling;
        run.passes = run.passes.min(analysis.required_passes);
        (run, afresh)
    }

    /// The run when there is no target: nothing is counted. An outage lasts until a source answers, whatever is measured.
    #[must_use]
    pub fn without_target(self) -> Self {
        Self {
            last: self.error.as_ref().map(|_| Outcome::Error),
            error: self.error,
            ..Self::default()
        }
    }

    /// A person's order to resume this revision that has not been obeyed yet. One for the future waits, and one from before
    /// the failure does nothing, as with pipelines.
    fn order(&self, target: &TargetFacts, now: Timestamp) -> Option<Timestamp> {
        let (revision, time) = target.resume.as_ref()?;
        let failed: Option<Timestamp> = self.failed.as_ref().and_then(|failed| failed.time.parse().ok());
        let is_of_it = *revision == target.revision && *time <= now;
        let is_new = self.resumed_at != Some(*time) && failed.is_none_or(|failed| *time >= failed);
        (is_of_it && is_new).then_some(*time)
    }

    /// The same run as a person's unpausing of a Deployment leaves it: the revision is measured afresh, and not paused again.
    #[must_use]
    pub fn resumed_by_user(self, now: Timestamp) -> Self {
        Self {
            uid: self.uid,
            revision: self.revision,
            started: self.started,
            ended: self.ended,
            measured_at: self.measured_at,
            resumed_at: Some(whole_seconds(now)),
            resumed_by_user: true,
            last: self.last,
            error: self.error,
            metrics: self.metrics,
            worst: self.worst,
            ..Self::default()
        }
    }

    /// The run after a measurement that began at `began`; the target is as it was seen when that ended.
    #[must_use]
    pub fn count(
        mut self,
        analysis: &ValidAnalysis,
        target: &TargetFacts,
        measured: &Measured,
        began: Timestamp,
        now: Timestamp,
    ) -> Self {
        self.note(measured, began);
        self.ended |= !target.rolling;
        self.no_data = match measured.outcome {
            Outcome::NoData => self.no_data.saturating_add(1),
            // An outage says nothing, nor does it end a row.
            Outcome::Error => self.no_data,
            Outcome::Pass | Outcome::Fail => 0,
        };
        if !target.available {
            return self;
        }
        match counted_as(measured.outcome, self.no_data, analysis.on_no_data) {
            None => {}
            Some(true) => self.pass(analysis),
            Some(false) => self.fail(analysis, measured, now),
        }
        self
    }

    fn pass(&mut self, analysis: &ValidAnalysis) {
        self.failing = 0;
        if self.verdict == Judgement::Failed {
            return;
        }
        self.passes = self.passes.saturating_add(1).min(analysis.required_passes);
        if self.passes >= analysis.required_passes {
            self.verdict = Judgement::Passed;
        }
    }

    fn fail(&mut self, analysis: &ValidAnalysis, measured: &Measured, now: Timestamp) {
        self.failing = self.failing.saturating_add(1);
        // After the rollout the verdict stays, and there is nothing that a failure could hold.
        if self.ended || self.verdict == Judgement::Failed {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= analysis.failure_limit {
            self.verdict = Judgement::Failed;
            self.failed = Some(AnalysisFailure {
                time: whole_seconds(now).to_string(),
                message: breach(measured),
            });
        }
    }

    /// Writes a measurement down, whatever it counts.
    fn note(&mut self, measured: &Measured, began: Timestamp) {
        self.last = Some(measured.outcome);
        self.error.clone_from(&measured.error);
        self.measured_at = Some(began);
        if let Some(worst) = &measured.worst {
            self.worst = Some((number(worst.value), worst.limit_in_words()));
        }
        self.metrics = measured
            .metrics
            .iter()
            .map(|metric| {
                let mut metric = metric.clone();
                let before = self.metrics.iter().find(|before| before.name == metric.name);
                // What was last known stays beside the error.
                if let (Some(before), true) = (before, metric.error.is_some()) {
                    metric.value.clone_from(&before.value);
                    metric.limit.clone_from(&before.limit);
                    metric.series.clone_from(&before.series);
                }
                metric
            })
            .collect();
        self.measurements.push(Measurement {
            time: whole_seconds(began).to_string(),
            verdict: measured.outcome,
            value: measured.worst.as_ref().map(|worst| number(worst.value)),
            metric: measured.worst.as_ref().map(|worst| worst.metric.clone()),
        });
        let surplus = self.measurements.len().saturating_sub(MEASUREMENTS_MAX);
        self.measurements.drain(..surplus);
    }
}

/// Why the last measurement got no answer: the condition has it, in words.
fn error(status: &RolloutAnalysisStatus) -> Option<QueryError> {
    let type_ = AnalysisConditionType::MetricsUnavailable.as_str();
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_)?;
    let words = condition.message.clone();
    let is = |reason: AnalysisReason| condition.reason == reason.as_str();
    if is(AnalysisReason::MetricsUnavailable) {
        Some(QueryError::Unavailable(words))
    } else if is(AnalysisReason::QueryRejected) {
        Some(QueryError::Rejected(words))
    } else {
        is(AnalysisReason::UnknownSource).then_some(QueryError::UnknownSource(words))
    }
}

/// Whether a measurement counts as a pass or a failure; `None`: it counts nothing.
fn counted_as(outcome: Outcome, no_data: u32, on_no_data: OnNoData) -> Option<bool> {
    match outcome {
        Outcome::Pass => Some(true),
        Outcome::Fail => Some(false),
        Outcome::Error => None,
        Outcome::NoData if no_data < NO_DATA_LIMIT => None,
        Outcome::NoData => match on_no_data {
            OnNoData::Pause => None,
            OnNoData::Continue => Some(true),
            OnNoData::Fail => Some(false),
        },
    }
}

/// What a failing measurement failed by.
fn breach(measured: &Measured) -> String {
    match (&measured.worst, &measured.without_data) {
        (Some(worst), None) => Reading::in_words(worst),
        (_, Some(metric)) => format!("{metric} has no data"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests;
