//! Runs the passes over analyses for as long as this replica leads. Must never start one before everything has been
//! listed, and never measure into another replica's term: what is in hand at the end of a term is dropped.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join_all;
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{self, applier};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use tokio_util::sync::CancellationToken;

use super::context::AnalysisContext;
use super::deployments::release_deleted;
use super::pass::reconcile;
use crate::api::StoredAnalysis;
use crate::caches::id_of;
use crate::caches::watch::{self, Selection};
use crate::core::collision::PipelineId;

/// Most passes at once. A pass mostly waits for a metrics source, which has a limit of its own; with fewer, one that is away
/// would keep those of another waiting.
const PASSES_MAX: u16 = 512;

/// Passes over analyses, as their times and events ask for it, until `stop`.
///
/// Begins with every analysis once all caches are complete.
pub async fn lead(ctx: Arc<AnalysisContext>, stop: CancellationToken) {
    let ready = async {
        // The senders live as long as the context.
        let _pipelines = ctx.base.pipelines.synced().wait_for(|synced| *synced).await.is_ok();
        let _objects = ctx.base.world.synced().wait_for(|synced| *synced).await.is_ok();
        let _analyses = ctx.analyses().synced().wait_for(|synced| *synced).await.is_ok();
    };
    if stop.run_until_cancelled(ready).await.is_none() {
        return;
    }
    // What an earlier term remembered, another leader may have gone on from.
    ctx.forget_all();
    ctx.base.metrics.analyses.forget_all();
    let gone = ctx.analyses().term_begins();
    let asked_for = ctx.analyses().triggers.read();
    for analysis in ctx.analyses().ids() {
        ctx.analyses().triggers.tell(analysis);
    }
    let queue = asked_for
        .map(|analysis| ObjectRef::<StoredAnalysis>::new(&analysis.name).within(&analysis.namespace))
        .map(Ok::<_, Infallible>);
    let passes = applier(
        |analysis, ctx| reconcile(analysis, ctx).map(Ok::<_, Infallible>).boxed(),
        |_, never: &Infallible, _| match *never {},
        Arc::clone(&ctx),
        ctx.analyses().store(),
        queue.boxed(),
        controller::Config::default().concurrency(PASSES_MAX),
    );
    let passes = passes.for_each(|_| async {});
    let all = async { tokio::join!(passes, watch_deployments(&ctx), release_deleted(&ctx, gone)) };
    stop.run_until_cancelled(all).await;
    ctx.analyses().triggers.end();
    ctx.base.metrics.analyses.forget_all();
}

/// Watches the metadata of Deployments once an analysis names one: they are looked at when something happened to them.
async fn watch_deployments(ctx: &AnalysisContext) {
    if !ctx.deployment_targets {
        return;
    }
    if ctx
        .analyses()
        .names_deployments()
        .wait_for(|named| *named)
        .await
        .is_err()
    {
        return;
    }
    let generations = Generations::default();
    let watches = ctx.analyses().scopes().iter().map(|scope| {
        let take = |_: &_, event| {
            if let Some((deployment, edited)) = generations.take(&event) {
                ctx.analyses().saw_deployment(&deployment, edited);
            }
        };
        let never = CancellationToken::new();
        watch::run::<PartialObjectMeta<Deployment>>(
            ctx.base.client.clone(),
            scope.clone(),
            Selection::Everything,
            never,
            take,
        )
    });
    join_all(watches).await;
}

/// Uid and generation of each Deployment, from which an edit is known.
#[derive(Default)]
struct Generations(Mutex<HashMap<PipelineId, Version>>);

/// Uid and generation.
type Version = (Option<String>, Option<i64>);

impl Generations {
    /// The Deployment that an event is about, and whether it was edited, made or deleted.
    fn take(&self, event: &Event<PartialObjectMeta<Deployment>>) -> Option<(PipelineId, bool)> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                let id = id_of(&object.metadata);
                let now = (object.metadata.uid.clone(), object.metadata.generation);
                let before = known.insert(id.clone(), now.clone());
                Some((id, before != Some(now)))
            }
            Event::Delete(object) => {
                let id = id_of(&object.metadata);
                known.remove(&id);
                Some((id, true))
            }
            Event::Init | Event::InitDone => None,
        }
    }
}
