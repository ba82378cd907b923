//! One pass over one analysis; reads as the design does. Must never sleep: what is to come later, it asks to be called for.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::runtime::controller::Action as Requeue;
use tracing::Instrument as _;

use super::context::{AnalysisContext, Attempt, Memory};
use super::deployments;
use super::measure::measure;
use super::report;
use super::status_write::{Written, write};
use super::target::{Seen, look};
use crate::api::rollout_analysis::AnalysisTarget;
use crate::api::{RolloutAnalysisStatus, StoredAnalysis};
use crate::caches::id_of;
use crate::controller::errors::{Failure, Next};
use crate::core::analysis::judge::Measured;
use crate::core::analysis::run::Run;
use crate::core::analysis::schedule;
use crate::core::analysis::status::{Hold, StatusInput, is_write_due, status};
use crate::core::analysis::target::{Target, TargetFacts};
use crate::core::analysis::valid::ValidAnalysis;
use crate::core::collision::PipelineId;
use crate::telemetry::labels::{MeasurementOutcome, RetryClass};
use crate::telemetry::reconcile_span;

/// The wait after a first pass that could not read or write what it had to; it doubles with each further one.
const RETRY_MIN: Duration = Duration::from_secs(1);
/// The longest such wait, and that for a refusal, which somebody has to mend.
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Shortest time between two passes that an analysis asks for itself.
const WAKE_MIN: Duration = Duration::from_millis(100);

/// An analysis that is looked at.
pub(super) struct Visit {
    pub(super) id: PipelineId,
    pub(super) uid: String,
    pub(super) stored: Arc<StoredAnalysis>,
    /// The target that it names, if its spec can be read.
    pub(super) names: Option<AnalysisTarget>,
    /// What it asks for, or all faults of it.
    pub(super) analysis: Result<ValidAnalysis, String>,
    pub(super) seen: Option<Seen>,
    pub(super) run: Run,
    pub(super) memory: Memory,
}

/// What became of a measurement.
enum Measurement {
    /// None was due.
    None,
    /// It counts, or it says nothing; the next one is due at the interval.
    Made,
    /// It got no answer, and another attempt follows.
    TriedAgain,
    /// What it was of changed meanwhile.
    Dropped,
}

/// Looks at an analysis and its target, measures when that is due, and writes down what came of it; says when to look
/// again.
async fn pass(ctx: &AnalysisContext, stored: Arc<StoredAnalysis>) -> Result<Option<Duration>, Failure> {
    if stored.metadata.deletion_timestamp.is_some() {
        // Only another's finalizer keeps it.
        deployments::release_all(ctx, &stored).await?;
        return Ok(None);
    }
    let mut visit = Visit::new(ctx, stored);
    let before = visit.stored.status.clone();
    visit.look(ctx).await?;
    // Before it measures: what is to be let go waits for no answer.
    visit.hold(ctx).await?;
    let measurement = visit.measure(ctx).await?;
    if matches!(measurement, Measurement::Made) {
        visit.hold(ctx).await?;
    }
    let written = visit.write(ctx).await;
    report::happened(ctx, &visit, &before).await;
    report::figures(ctx, &visit);
    let wake = visit.wake(ctx, &measurement);
    visit.keep(ctx);
    if written? == Written::Superseded {
        return Ok(Some(WAKE_MIN));
    }
    Ok(wake)
}

impl Visit {
    fn new(ctx: &AnalysisContext, stored: Arc<StoredAnalysis>) -> Self {
        let uid = stored.metadata.uid.clone().unwrap_or_default();
        let mut memory = ctx.memory(&uid);
        if memory.run.is_none() {
            // The first visit of the term: the status has what an earlier one left.
            memory.hold = stored.status.held.clone().map_or(Hold::None, Hold::Held);
        }
        let run = memory.run.take().unwrap_or_else(|| Run::read(&stored.status));
        let (names, analysis) = match stored.spec.as_ref() {
            Ok(spec) => {
                let analysis = ValidAnalysis::parse(spec).map_err(|violations| {
                    let faults: Vec<_> = violations.iter().map(ToString::to_string).collect();
                    faults.join("; ")
                });
                (Some(spec.target.clone()), analysis)
            }
            Err(fault) => (None, Err(format!("{}: {}", fault.path, fault.message))),
        };
        Self {
            id: id_of(&stored.metadata),
            uid,
            stored,
            names,
            analysis,
            seen: None,
            run,
            memory,
        }
    }

    /// Looks at the target, and enters the run of its revision.
    async fn look(&mut self, ctx: &AnalysisContext) -> Result<(), Failure> {
        let (Some(names), Ok(analysis)) = (&self.names, &self.analysis) else {
            return Ok(());
        };
        let again = ctx.analyses().is_behind(&self.uid);
        let seen = look(ctx, &self.id.namespace, names).await?;
        match &seen.target {
            Target::Found(facts) => {
                let (run, afresh) = std::mem::take(&mut self.run).enter(analysis, facts, again, ctx.now());
                self.run = run;
                if let Some(why) = afresh {
                    self.memory.attempt = None;
                    tracing::info!(?why, revision = facts.revision, "begins afresh");
                }
            }
            Target::Missing => {
                self.run = std::mem::take(&mut self.run).without_target();
                self.memory.attempt = None;
            }
            Target::Unseen | Target::Off | Target::Forbidden(_) => {}
        }
        self.seen = Some(seen);
        Ok(())
    }

    pub(super) fn facts(&self) -> Option<&TargetFacts> {
        match &self.seen.as_ref()?.target {
            Target::Found(facts) => Some(facts),
            _ => None,
        }
    }

    /// When the next measurement, or the next attempt of the one under way, is due; `None` while there is nothing to
    /// measure.
    fn due(&self) -> Option<Timestamp> {
        let analysis = self.analysis.as_ref().ok()?;
        let facts = self.facts()?;
        if !facts.available {
            return None;
        }
        if let Some(attempt) = self.attempt() {
            return Some(attempt.next);
        }
        let (delay, interval) = (signed(analysis.initial_delay), signed(analysis.interval));
        Some(schedule::due(self.run.started?, delay, self.run.measured_at, interval))
    }

    /// The measurement under way, if it is of this very spec.
    fn attempt(&self) -> Option<Attempt> {
        self.memory
            .attempt
            .filter(|attempt| attempt.generation == self.stored.metadata.generation)
    }

    /// Measures if that is due, and counts what came of it.
    async fn measure(&mut self, ctx: &AnalysisContext) -> Result<Measurement, Failure> {
        let began = ctx.now();
        if self.due().is_none_or(|due| due > began) {
            return Ok(Measurement::None);
        }
        let Some(measured) = self.ask(ctx).await else {
            return Ok(Measurement::Dropped);
        };
        let before = self.facts().cloned();
        if !self.is_current(ctx) {
            return Ok(Measurement::Dropped);
        }
        self.look(ctx).await?;
        let (Ok(analysis), Some(facts)) = (&self.analysis, self.facts().cloned()) else {
            return Ok(Measurement::Dropped);
        };
        let of = |facts: &TargetFacts| (facts.uid.clone(), facts.revision.clone());
        if before.as_ref().map(of) != Some(of(&facts)) {
            return Ok(Measurement::Dropped);
        }
        let (now, attempt) = (ctx.now(), self.attempt());
        let made = attempt.map_or(0, |attempt| attempt.made).saturating_add(1);
        let first = attempt.map_or(began, |attempt| attempt.began);
        if measured.may_be_tried_again() {
            let interval = signed(analysis.interval);
            if let Some(next) = schedule::next_attempt(first, made, interval, random(), now) {
                self.memory.attempt = Some(Attempt {
                    began: first,
                    made,
                    next,
                    generation: self.stored.metadata.generation,
                });
                ctx.base.metrics.analyses.retried();
                return Ok(Measurement::TriedAgain);
            }
        }
        self.memory.attempt = None;
        let run = std::mem::take(&mut self.run);
        self.run = run.count(analysis, &facts, &measured, first, now);
        ctx.base.metrics.analyses.measured(outcome(&measured));
        tracing::debug!(outcome = ?measured.outcome, attempts = made, "measured");
        Ok(Measurement::Made)
    }

    /// Asks the metrics sources; `None` when the analysis or its target changed meanwhile.
    async fn ask(&self, ctx: &AnalysisContext) -> Option<Measured> {
        let (analysis, facts) = (self.analysis.as_ref().ok()?, self.facts()?);
        let changed = ctx.analyses().measuring(&self.id);
        let deadline = unsigned(schedule::deadline(signed(analysis.interval)));
        let measured = tokio::select! {
            biased;
            measured = measure(ctx, &self.id.namespace, analysis, facts, deadline) => Some(measured),
            () = changed.notified() => None,
        };
        ctx.analyses().measured(&self.id);
        if measured.is_none() {
            ctx.base.metrics.analyses.measured(MeasurementOutcome::Dropped);
        }
        measured
    }

    /// Whether the analysis is still the one that is looked at.
    pub(super) fn is_current(&self, ctx: &AnalysisContext) -> bool {
        ctx.analyses().get(&self.id).is_some_and(|newest| {
            let (now, seen) = (&newest.metadata, &self.stored.metadata);
            now.uid == seen.uid && now.generation == seen.generation && now.deletion_timestamp.is_none()
        })
    }

    /// What the status is to say now.
    pub(super) fn status(&self, previous: &RolloutAnalysisStatus, now: Timestamp) -> RolloutAnalysisStatus {
        let input = StatusInput {
            generation: self.stored.metadata.generation,
            names: self.names.as_ref(),
            analysis: self.analysis.as_ref().map_err(String::as_str),
            target: self.seen.as_ref().map(|seen| &seen.target),
            run: &self.run,
            hold: &self.memory.hold,
            previous,
        };
        status(&input, now)
    }

    /// Writes the status when that is due. Whatever the run had to begin afresh for is in it then.
    pub(super) async fn write(&mut self, ctx: &AnalysisContext) -> Result<Written, Failure> {
        let now = ctx.now();
        let next = self.status(&self.stored.status, now);
        let mut written = Written::Unchanged;
        if is_write_due(&self.stored.status, &next, self.memory.written_at, now) {
            written = write(ctx, self).await?;
        }
        if written != Written::Superseded && self.facts().is_some() {
            ctx.analyses().caught_up(&self.uid);
        }
        if written == Written::Yes {
            self.memory.written_at = Some(now);
        }
        Ok(written)
    }

    /// Remembers what the next pass goes on from.
    fn keep(self, ctx: &AnalysisContext) {
        let memory = Memory {
            run: Some(self.run),
            ..self.memory
        };
        ctx.remember(&self.uid, memory);
    }

    fn wake(&self, ctx: &AnalysisContext, measurement: &Measurement) -> Option<Duration> {
        if matches!(measurement, Measurement::Dropped) {
            return Some(WAKE_MIN);
        }
        let refused = matches!(self.memory.hold, Hold::Refused(..));
        let forbidden = matches!(self.seen.as_ref().map(|seen| &seen.target), Some(Target::Forbidden(_)));
        let due = self
            .due()
            .map(|due| unsigned(due.duration_since(ctx.now())).max(WAKE_MIN));
        let again = (refused || forbidden).then_some(RETRY_MAX);
        // Events tell when a Pod becomes available. Should one be missed, no more than a measurement is.
        let missed =
            (due.is_none() && self.facts().is_some()).then(|| self.analysis.as_ref().ok().map(|of| of.interval));
        due.into_iter().chain(again).chain(missed.flatten()).min()
    }
}

/// A pass with all that is around it: the span of its lines, metrics, and back-off when it fails.
pub(super) async fn reconcile(cached: Arc<StoredAnalysis>, ctx: Arc<AnalysisContext>) -> Requeue {
    let id = id_of(&cached.metadata);
    ctx.analyses().triggers.begun(&id);
    let stored = ctx.analyses().get(&id).unwrap_or(cached);
    let uid = stored.metadata.uid.clone().unwrap_or_default();
    let generation = stored.metadata.generation.unwrap_or_default();
    let span = reconcile_span(&id.namespace, &id.name, &uid, generation);
    let after = async {
        let passed = pass(&ctx, stored).await;
        let failures = ctx.count_pass(&uid, passed.is_ok());
        passed.unwrap_or_else(|failure| failed(&ctx, &failure, failures))
    }
    .instrument(span)
    .await;
    match after {
        Some(after) => {
            ctx.base.metrics.analyses.requeued();
            Requeue::requeue(after)
        }
        None => Requeue::await_change(),
    }
}

/// What follows from a pass that could not be finished, the `failures`-th in a row.
fn failed(ctx: &AnalysisContext, failure: &Failure, failures: u32) -> Option<Duration> {
    let (class, after) = match failure.class().next() {
        Next::GiveUp => return None,
        Next::ReadAgain => (RetryClass::Conflict, WAKE_MIN),
        Next::Retry(class) => {
            let doublings = failures.saturating_sub(1).min(16);
            (class, RETRY_MIN.saturating_mul(1 << doublings).min(RETRY_MAX))
        }
        Next::Wait(class) => (class, RETRY_MAX),
    };
    ctx.base.metrics.retried(class);
    tracing::warn!("{}; tries again in {after:?}", failure.in_words());
    Some(after)
}

fn outcome(measured: &Measured) -> MeasurementOutcome {
    use crate::api::analysis_status::Outcome;
    match measured.outcome {
        Outcome::Pass => MeasurementOutcome::Pass,
        Outcome::Fail => MeasurementOutcome::Fail,
        Outcome::NoData => MeasurementOutcome::NoData,
        Outcome::Error => MeasurementOutcome::Error,
    }
}

/// A number from 0 to 1 that differs each time.
fn random() -> f64 {
    use std::hash::{BuildHasher as _, RandomState};
    let bits = RandomState::new().hash_one(0_u8) >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

fn unsigned(duration: SignedDuration) -> Duration {
    Duration::try_from(duration).unwrap_or(Duration::ZERO)
}
