//! Runs the controller: its watches for as long as the process lives, its passes for as long as it leads. Must never
//! start a pass before everything has been listed.

use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use futures::future::join_all;
use futures::{FutureExt as _, Stream, StreamExt as _};
use k8s_openapi::api::apps::v1::{ControllerRevision, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{self, applier};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::orphans::sweeps;
use super::reconcile::reconcile;
use super::world::World;
use crate::api::StoredPipeline;
use crate::api::meta::{LABEL_LEGACY_OWNER_UID, LABEL_OWNER_UID};
use crate::caches::Scope;
use crate::caches::watch::{self, Selection};
use crate::core::collision::PipelineId;

/// Most passes at once. A pass mostly waits for the API server; more of them would only lengthen its queue.
const PASSES_MAX: u16 = 32;

/// Watches Pods, ConfigMaps and ControllerRevisions until `stop`.
pub async fn watch(client: Client, world: Arc<World>, stop: CancellationToken) {
    let ours = Selection::ManagedByUs;
    let (world, stop) = (world.as_ref(), &stop);
    let (workloads, pipelines) = (&world.workload_scopes, &world.pipeline_scopes);
    let pods = watches::<Pod>(&client, workloads, ours, stop, |scope, event| {
        world.take_pod(scope, event);
    });
    let config_maps = watches::<PartialObjectMeta<ConfigMap>>(&client, workloads, ours, stop, |scope, event| {
        world.take_config_map(scope, event);
    });
    let revisions = watches::<PartialObjectMeta<ControllerRevision>>(&client, pipelines, ours, stop, |scope, event| {
        world.take_revision(scope, event);
    });
    let legacy = async {
        if world.takes_over {
            tokio::join!(
                legacy(&client, world, LABEL_LEGACY_OWNER_UID, stop),
                legacy(&client, world, LABEL_OWNER_UID, stop)
            );
        }
    };
    tokio::join!(pods, config_maps, revisions, legacy);
}

/// Watches the Deployments of the Python operator that carry one of its labels.
async fn legacy(client: &Client, world: &World, label: &'static str, stop: &CancellationToken) {
    let selected = Selection::Labelled(label);
    let scopes = &world.workload_scopes;
    watches::<PartialObjectMeta<Deployment>>(client, scopes, selected, stop, |scope, event| {
        world.take_legacy(label, scope, event);
    })
    .await;
}

/// One watch a scope.
async fn watches<K>(
    client: &Client,
    scopes: &[Scope],
    selection: Selection,
    stop: &CancellationToken,
    take: impl Fn(&Scope, Event<K>),
) where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let watches = scopes
        .iter()
        .map(|scope| watch::run::<K>(client.clone(), scope.clone(), selection, stop.clone(), &take));
    join_all(watches).await;
}

/// Passes over pipelines, as events ask for it, until `stop`; then the passes in hand are finished.
///
/// Begins with every pipeline once all caches are complete.
pub async fn lead(ctx: Arc<Context>, stop: CancellationToken) {
    let ready = async {
        // The senders live as long as the context.
        let _pipelines = ctx.pipelines.synced().wait_for(|synced| *synced).await.is_ok();
        let _objects = ctx.world.synced().wait_for(|synced| *synced).await.is_ok();
        // A gate must not open because the analysis that shuts it is not known yet.
        let _analyses = ctx.analyses.synced().wait_for(|synced| *synced).await.is_ok();
    };
    if stop.run_until_cancelled(ready).await.is_none() {
        return;
    }
    let asked_for = ctx.triggers.read();
    for pipeline in ctx.pipelines.ids() {
        ctx.triggers.tell(pipeline);
    }
    tracing::info!("reconciles");
    let mut passes = passes(&ctx, asked_for, stop.clone()).boxed();
    let pass = async {
        while let Some(passed) = passes.next().await {
            forget_if_gone(&ctx, passed);
        }
    };
    tokio::select! {
        () = pass => {}
        () = sweeps(&ctx) => {}
    }
    ctx.triggers.end();
    ctx.metrics.forget_pipelines();
}

/// What is known of a pipeline goes with it.
fn forget_if_gone<T>(ctx: &Context, passed: Result<T, controller::Error<Infallible, Infallible>>) {
    if let Err(controller::Error::ObjectNotFound(gone)) = passed {
        let namespace = gone.namespace.unwrap_or_default();
        ctx.metrics.forget_pipeline(&namespace, &gone.name);
        ctx.triggers.begun(&PipelineId {
            namespace,
            name: gone.name,
        });
        ctx.world.forget_gone();
    }
}

/// kube's controller runtime: one pass a pipeline at a time, and passes that were asked for later.
fn passes(
    ctx: &Arc<Context>,
    asked_for: impl Stream<Item = PipelineId>,
    stop: CancellationToken,
) -> impl Stream<Item = Result<(ObjectRef<StoredPipeline>, controller::Action), controller::Error<Infallible, Infallible>>>
{
    let queue = asked_for
        .map(|pipeline| ObjectRef::<StoredPipeline>::new(&pipeline.name).within(&pipeline.namespace))
        .map(Ok::<_, Infallible>)
        .take_until(stop.cancelled_owned());
    applier(
        |pipeline, ctx| reconcile(pipeline, ctx).map(Ok::<_, Infallible>).boxed(),
        |_, never: &Infallible, _| match *never {},
        Arc::clone(ctx),
        ctx.pipelines.store(),
        queue,
        controller::Config::default().concurrency(PASSES_MAX),
    )
}
