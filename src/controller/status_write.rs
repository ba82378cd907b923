//! Writes the status: the whole of it, by PUT with the resourceVersion of the copy it was computed from, and only when
//! it differs; a difference that may wait is remembered. Must never write over what it has not read.

use std::sync::Arc;

use jiff::Timestamp;
use kube::api::PostParams;
use kube::core::{ObjectMeta, Request};
use kube::{Api, Resource as _};
use serde::Serialize;

use super::context::Context;
use super::errors::{Class, Failure};
use super::gather::View;
use crate::api::meta::{API_VERSION, FIELD_MANAGER, KIND};
use crate::api::{StoredPipeline, StreamingPipeline, StreamingPipelineStatus};
use crate::core::plan::{Facts, Outcome};
use crate::core::status::due::{Due, due};
use crate::core::status::{StatusInput, status};

/// How often a status is computed again because someone else wrote in between; then it is the next pass's turn.
const ATTEMPTS_MAX: usize = 4;

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

/// `/status` takes these fields; the API server keeps its own spec and metadata.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    status: &'a StreamingPipelineStatus,
}

/// Writes the status when it differs, from what was seen, where the rollout stands and what became of the actions
/// (`None` before them, which is never held back). Afterwards the view holds the pipeline as written.
pub async fn write(
    ctx: &Context,
    view: &mut View,
    facts: &Facts,
    outcome: Option<&Outcome>,
) -> Result<Written, Failure> {
    for _ in 0..ATTEMPTS_MAX {
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
        match put(ctx, view, &next).await {
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
        if !read_again(ctx, view).await? {
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

/// Reads the pipeline again; false when what was decided does not apply to it any more.
async fn read_again(ctx: &Context, view: &mut View) -> Result<bool, Failure> {
    let (namespace, name) = (&view.pipeline.namespace, &view.pipeline.name);
    let api = Api::<StoredPipeline>::namespaced(ctx.client.clone(), namespace);
    let what = format!("read StreamingPipeline {namespace}/{name}");
    let Some(read) = ctx.ask(&what, api.get_opt(name)).await? else {
        return Ok(false);
    };
    let (before, now) = (&view.stored.metadata, &read.metadata);
    let same = before.uid == now.uid
        && before.generation == now.generation
        && before.deletion_timestamp == now.deletion_timestamp;
    view.stored = Arc::new(read);
    Ok(same)
}

async fn put(ctx: &Context, view: &View, status: &StreamingPipelineStatus) -> Result<StoredPipeline, Failure> {
    let (namespace, name) = (&view.pipeline.namespace, &view.pipeline.name);
    let what = format!("write the status of StreamingPipeline {namespace}/{name}");
    let update = StatusUpdate {
        api_version: API_VERSION,
        kind: KIND,
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(namespace.clone()),
            uid: view.stored.metadata.uid.clone(),
            resource_version: view.stored.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        },
        status,
    };
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    ctx.pipelines.sends(&view.pipeline.uid, status);
    let body = serde_json::to_vec(&update).map_err(|error| Failure::of(&what)(kube::Error::SerdeError(error)))?;
    let url = StreamingPipeline::url_path(&(), Some(namespace));
    let request = Request::new(url).replace_subresource("status", name, &params, body);
    let request = request.map_err(|error| Failure::of(&what)(kube::Error::BuildRequest(error)))?;
    ctx.ask(&what, ctx.client.request(request)).await
}
