//! Writes the status: the whole of it, by PUT with the resourceVersion of the copy it was computed from, and only when
//! it differs; a difference that may wait is remembered. Must never write over what it has not read.

use std::sync::Arc;

use jiff::Timestamp;

use super::context::Context;
use super::errors::{Class, Failure};
use super::gather::View;
use super::stored_object::STATUS_ATTEMPTS_MAX;
use crate::api::StreamingPipelineStatus;
use crate::core::plan::{Facts, Outcome};
use crate::core::status::due::{Due, due};
use crate::core::status::{StatusInput, status};

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Written.
    Yes,
    /// Nothing differs.
    Unchanged,
    /// What differs waits until this time for another write that says it too.
    HeldBack(Timestamp),
    /// The pipeline was edited, deleted or replaced in between: another pass has to decide again.
    Superseded,
}

/// Writes the status when it differs, from what was seen, where the rollout stands and what became of the actions
/// (`None` before them, which is never held back). Afterwards the view holds the pipeline as written.
pub async fn write(
    ctx: &Context,
    view: &mut View,
    facts: &Facts,
    outcome: Option<&Outcome>,
) -> Result<Written, Failure> {
    for _ in 0..STATUS_ATTEMPTS_MAX {
        let next = compute(ctx, view, facts, outcome);
        let before = (!view.stored.status_is_foreign).then_some(&view.stored.status);
        if before == Some(&next) {
            held_back(ctx, view, |since| *since = None);
            return Ok(Written::Unchanged);
        }
        if let Some(until) = before
            .filter(|_| outcome.is_some())
            .and_then(|before| hold(ctx, view, before, &next))
        {
            return Ok(Written::HeldBack(until));
        }
        ctx.pipelines.sends(&view.pipeline.uid, &next);
        match ctx.replace_status(&view.stored.metadata, &next).await {
            Ok(written) => {
                let written = Arc::new(written);
                ctx.world.wrote(&view.pipeline, &view.stored, Arc::clone(&written));
                view.stored = written;
                held_back(ctx, view, |since| *since = None);
                return Ok(Written::Yes);
            }
            Err(failure) if failure.class() == Class::Conflict => {}
            Err(failure) if failure.class() == Class::NotFound => return Ok(Written::Superseded),
            Err(failure) => return Err(failure),
        }
        if !ctx.read_again(&mut view.stored).await? {
            return Ok(Written::Superseded);
        }
    }
    Ok(Written::Superseded)
}

/// Until when the difference may wait; that it waits is remembered.
fn hold(
    ctx: &Context,
    view: &View,
    before: &StreamingPipelineStatus,
    next: &StreamingPipelineStatus,
) -> Option<Timestamp> {
    let now = ctx.clock.now();
    held_back(ctx, view, |since| match due(before, next, *since, now) {
        Due::Now => None,
        Due::At(until) => {
            since.get_or_insert(now);
            Some(until)
        }
    })
}

/// Since when a difference has been held back.
fn held_back<T>(ctx: &Context, view: &View, act: impl FnOnce(&mut Option<Timestamp>) -> T) -> T {
    ctx.world
        .remember(&view.pipeline, |memory| act(&mut memory.status_held_since))
}

fn compute(ctx: &Context, view: &View, facts: &Facts, outcome: Option<&Outcome>) -> StreamingPipelineStatus {
    let rendered = view.spec.rendered.as_ref();
    let input = StatusInput {
        pipeline: &view.pipeline,
        wanted: view.spec.wanted.as_ref(),
        config_version: rendered.map(|spec| spec.rendered.config.version.as_str()),
        render_faults: &view.spec.faults,
        observed: &view.observed,
        facts,
        outcome,
        previous: view.previous(),
        settings: &ctx.settings,
    };
    status(&input, ctx.clock.now())
}
