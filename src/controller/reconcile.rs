//! One pass over one pipeline; reads as the design does. Must never write before what allows it is written.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::runtime::controller::Action as Requeue;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::apply::apply;
use super::context::Context;
use super::errors::{Failure, Next};
use super::gather::{View, gather};
use super::report;
use super::status_write::{Written, write};
use crate::api::StoredPipeline;
use crate::caches::id_of;
use crate::core::plan::notices::of_outcome;
use crate::core::plan::{Action, ActionResult, Decision, Outcome, decide};
use crate::core::status::notices;
use crate::telemetry::labels::{ReconcileResult, RetryClass};
use crate::telemetry::reconcile_span;

/// The wait after a first pass that could not read or write what it had to; it doubles with each further one.
const RETRY_MIN: Duration = Duration::from_secs(1);
/// The longest such wait, and that for a refusal, which somebody has to mend.
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Shortest time between two passes that a pipeline asks for itself: time alone never makes it spin.
const WAKE_MIN: Duration = Duration::from_millis(100);

/// Looks at a pipeline and brings it nearer to what it asks for; says when to look again.
async fn pass(ctx: &Context, cached: Arc<StoredPipeline>) -> Result<Option<Duration>, Failure> {
    let now = ctx.clock.now();
    // Caches, and live reads of what they cannot know.
    let Some(mut view) = gather(ctx, cached, now).await? else {
        return Ok(None);
    };
    let before = view.previous().clone();
    // Pure.
    let decision = decide(&view.input(ctx), now);
    // Status write: whoever comes after a crash finds the facts that allowed the actions.
    let mut recorded = Written::Unchanged;
    if decision.facts_first {
        recorded = write(ctx, &mut view, &decision.facts, None).await?;
        if recorded == Written::Superseded {
            return Ok(Some(WAKE_MIN));
        }
    }
    // Writes.
    let outcome = apply(ctx, &view, &decision.actions).await;
    report::outcome(ctx, &outcome);
    report::notices(ctx, &view, &of_outcome(&outcome)).await;
    // Status write: what was seen and done.
    let written = write(ctx, &mut view, &decision.facts, Some(&outcome)).await;
    let said = matches!(written, Ok(Written::Yes | Written::Unchanged | Written::HeldBack(_)));
    if recorded == Written::Yes || said {
        // No later pass would find them again.
        report::notices(ctx, &view, &decision.notices).await;
        report::notices(ctx, &view, &notices(&before, view.previous())).await;
    }
    report::figures(ctx, &view, &outcome);
    match written? {
        Written::Superseded => Ok(Some(WAKE_MIN)),
        Written::HeldBack(until) => Ok(wake(ctx, &view, &decision, &outcome, Some(until))),
        Written::Yes | Written::Unchanged => Ok(wake(ctx, &view, &decision, &outcome, None)),
    }
}

/// At once after a dry run that was accepted, for no event tells of it and an edit waits for it. Else the first of: what
/// the plan waits for, the back-off of what failed, and the time at which a status that is held back is due.
fn wake(
    ctx: &Context,
    view: &View,
    decision: &Decision,
    outcome: &Outcome,
    status_due: Option<Timestamp>,
) -> Option<Duration> {
    let is_accepted = |(action, result): &(Action, ActionResult)| {
        matches!((action, result), (Action::DryRunPod(_), ActionResult::Done))
    };
    if outcome.results.iter().any(is_accepted) {
        return Some(Duration::ZERO);
    }
    let now = ctx.clock.now();
    let held = ctx.world.remember(&view.pipeline, |memory| memory.holds.next(now));
    let status = status_due.map(|at| at.duration_since(now));
    let after = decision.wake_after.into_iter().chain(held).chain(status).min()?;
    Some(unsigned(after).max(WAKE_MIN))
}

/// A pass with all that is around it: the span of its lines, metrics, and back-off when it fails.
pub async fn reconcile(cached: Arc<StoredPipeline>, ctx: Arc<Context>) -> Requeue {
    let began = Instant::now();
    let id = id_of(&cached.metadata);
    ctx.triggers.begun(&id);
    let uid = cached.metadata.uid.clone().unwrap_or_default();
    let span = reconcile_span(
        &id.namespace,
        &id.name,
        &uid,
        cached.metadata.generation.unwrap_or_default(),
    );
    let (result, after) = async {
        let passed = pass(&ctx, cached).await;
        let failures = ctx.world.count_pass(&uid, passed.is_ok());
        match passed {
            Ok(after) => (ReconcileResult::Success, after),
            Err(failure) => failed(&ctx, &failure, failures),
        }
    }
    .instrument(span)
    .await;
    ctx.metrics.reconciled(result, began.elapsed());
    match after {
        Some(after) => {
            ctx.metrics.requeued();
            Requeue::requeue(after)
        }
        None => Requeue::await_change(),
    }
}

/// What follows from a pass that could not be finished, the `failures`-th in a row. Nothing is lost: the next pass begins
/// from what is there.
fn failed(ctx: &Context, failure: &Failure, failures: u32) -> (ReconcileResult, Option<Duration>) {
    let (result, class, after) = match failure.class().next() {
        Next::GiveUp => return (ReconcileResult::Abandoned, None),
        Next::ReadAgain => (ReconcileResult::Retry, RetryClass::Conflict, WAKE_MIN),
        Next::Retry(class) => (ReconcileResult::Retry, class, back_off(failures)),
        Next::Wait(class) => (ReconcileResult::Refused, class, RETRY_MAX),
    };
    ctx.metrics.retried(class);
    tracing::warn!("{}; tries again in {after:?}", failure.in_words());
    (result, Some(after))
}

/// 1, 2, 4 and so on up to 60 seconds.
fn back_off(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    RETRY_MIN.saturating_mul(1 << doublings).min(RETRY_MAX)
}

fn unsigned(after: SignedDuration) -> Duration {
    Duration::try_from(after).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_that_fail_are_tried_again_ever_more_rarely() {
        let waits = [1, 2, 3, 6, 7, 8, 1000].map(|failures| back_off(failures).as_secs());
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60]);
    }
}
