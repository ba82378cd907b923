//! Looks at the target of an analysis: at pipelines in the caches, at Deployments in the API server, for what is decided
//! by their managedFields must not be old. Must never decide.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::Api;
use kube::api::ListParams;
use kube::core::Selector;

use super::context::AnalysisContext;
use crate::api::StoredPipeline;
use crate::api::deployment::StoredDeployment;
use crate::api::rollout_analysis::{AnalysisTarget, TargetKind};
use crate::controller::errors::{Class, Failure};
use crate::controller::world::Look;
use crate::core::analysis::target::Target;
use crate::core::analysis::{deployment, pipeline};
use crate::core::collision::PipelineId;
use crate::core::observed::{NamespaceState, PipelineFacts};
use crate::core::plan::{Bases, Wanted};

/// Pods that still run, or will.
pub(super) const LIVE_PODS: &str = "status.phase!=Failed,status.phase!=Succeeded";

/// What was seen of a target.
pub(super) struct Seen {
    /// For the core.
    pub(super) target: Target,
    /// The Deployment, if it is one.
    pub(super) deployment: Option<StoredDeployment>,
}

/// Looks at it. Fails when the API server does not answer: nothing is known then, and nothing is to be said.
pub(super) async fn look(ctx: &AnalysisContext, namespace: &str, target: &AnalysisTarget) -> Result<Seen, Failure> {
    match target.kind {
        TargetKind::StreamingPipeline => Ok(Seen {
            target: look_at_pipeline(ctx, namespace, &target.name),
            deployment: None,
        }),
        TargetKind::Deployment if !ctx.deployment_targets => Ok(Seen {
            target: Target::Off,
            deployment: None,
        }),
        TargetKind::Deployment => match look_at_deployment(ctx, namespace, &target.name).await {
            Ok(seen) => Ok(seen),
            Err(failure) if failure.class() == Class::Forbidden => Ok(Seen {
                target: Target::Forbidden(failure.in_words()),
                deployment: None,
            }),
            Err(failure) => Err(failure),
        },
    }
}

fn look_at_pipeline(ctx: &AnalysisContext, namespace: &str, name: &str) -> Target {
    let base = &ctx.base;
    let id = PipelineId {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let Some(cached) = base.pipelines.get(&id) else {
        return Target::Missing;
    };
    let stored = base.world.newest(cached);
    let Some(facts) = PipelineFacts::read(&stored.metadata, base.pipelines.workload_namespace(namespace)) else {
        return Target::Missing;
    };
    let wanted = wanted(&stored, name);
    let look = Look {
        facts: &facts,
        wanted: wanted.as_ref(),
        namespace: NamespaceState::Active,
        settings: &base.settings,
        now: ctx.now(),
    };
    let (observed, _) = base.world.observe(&stored, &look);
    pipeline::facts(&stored, &observed.pods).map_or(Target::Unseen, Target::Found)
}

/// What the spec asks of its Pods, as far as their availability depends on it.
fn wanted(stored: &StoredPipeline, name: &str) -> Option<Wanted> {
    let spec = stored.spec.typed_fields()?;
    Some(Wanted::new(&spec, Bases::of(name, &spec)?, None))
}

async fn look_at_deployment(ctx: &AnalysisContext, namespace: &str, name: &str) -> Result<Seen, Failure> {
    let missing = Seen {
        target: Target::Missing,
        deployment: None,
    };
    let Some(live) = get(ctx, namespace, name).await? else {
        return Ok(missing);
    };
    let client = &ctx.base.client;
    let params = ListParams::default().labels_from(&selector(&live.spec.selector));
    let sets = Api::<ReplicaSet>::namespaced(client.clone(), namespace);
    let what = format!("list the ReplicaSets of Deployment {namespace}/{name}");
    let sets = ctx.base.ask(&what, sets.list(&params)).await?;
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    let what = format!("list the Pods of Deployment {namespace}/{name}");
    let pods = ctx
        .base
        .ask(&what, pods.list_metadata(&params.fields(LIVE_PODS)))
        .await?;
    let pods: Vec<ObjectMeta> = pods.items.into_iter().map(|pod| pod.metadata).collect();
    Ok(Seen {
        target: Target::Found(deployment::facts(&live, &sets.items, &pods)),
        deployment: Some(live),
    })
}

/// A Deployment as the API server has it now.
pub(super) async fn get(
    ctx: &AnalysisContext,
    namespace: &str,
    name: &str,
) -> Result<Option<StoredDeployment>, Failure> {
    let api = Api::<StoredDeployment>::namespaced(ctx.base.client.clone(), namespace);
    let what = format!("read Deployment {namespace}/{name}");
    ctx.base.ask(&what, api.get_opt(name)).await
}

/// What cannot be selected by is left out: then more is listed, and owners are compared anyway.
pub(super) fn selector(selector: &LabelSelector) -> Selector {
    Selector::try_from(selector.clone()).unwrap_or_default()
}
