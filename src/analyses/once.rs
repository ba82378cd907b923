//! Looks at the target of an analysis for somebody who asks once, without caches. Must never write, and never decide.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::{Api, Client};

use super::target::{LIVE_PODS, selector};
use crate::api::StoredPipeline;
use crate::api::deployment::StoredDeployment;
use crate::api::meta;
use crate::api::rollout_analysis::{AnalysisTarget, TargetKind};
use crate::core::analysis::deployment;

/// What the variables of queries stand for, but for the target's namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetNames {
    /// The target's revision.
    pub revision: String,
    /// Names of its live Pods of that revision.
    pub updated_pods: Vec<String>,
    /// Names of its live Pods of the revision before.
    pub current_pods: Vec<String>,
}

/// Looks at the target in `namespace`; Pods of a pipeline are in `workload_namespace`, where there is one for all.
///
/// `None`: there is no such object, or no revision of it yet. Fails when the API server does not answer, or refuses.
pub async fn look_once(
    client: &Client,
    namespace: &str,
    workload_namespace: Option<&str>,
    target: &AnalysisTarget,
) -> Result<Option<TargetNames>, kube::Error> {
    match target.kind {
        TargetKind::StreamingPipeline => {
            let pipelines = Api::<StoredPipeline>::namespaced(client.clone(), namespace);
            let Some(pipeline) = pipelines.get_opt(&target.name).await? else {
                return Ok(None);
            };
            let pods = Api::namespaced(client.clone(), workload_namespace.unwrap_or(namespace));
            of_pipeline(&pipeline, &pods).await
        }
        TargetKind::Deployment => {
            let deployments = Api::<StoredDeployment>::namespaced(client.clone(), namespace);
            let Some(live) = deployments.get_opt(&target.name).await? else {
                return Ok(None);
            };
            let found = ListParams::default().labels_from(&selector(&live.spec.selector));
            let sets = Api::<ReplicaSet>::namespaced(client.clone(), namespace);
            let sets = sets.list(&found).await?.items;
            let pods = Api::<Pod>::namespaced(client.clone(), namespace);
            let facts = deployment::facts(&live, &sets, &live_pods(&pods, found).await?);
            Ok(Some(TargetNames {
                revision: facts.revision,
                updated_pods: facts.updated_pods,
                current_pods: facts.current_pods,
            }))
        }
    }
}

async fn of_pipeline(pipeline: &StoredPipeline, pods: &Api<Pod>) -> Result<Option<TargetNames>, kube::Error> {
    let Some((update, uid)) = pipeline
        .status
        .update_revision
        .clone()
        .zip(pipeline.metadata.uid.clone())
    else {
        return Ok(None);
    };
    let own = ListParams::default().labels(&format!("{}={uid}", meta::LABEL_OWNER_UID));
    let pods = live_pods(pods, own).await?;
    let of = |revision: Option<&str>| {
        let label = |pod: &ObjectMeta| pod.labels.as_ref()?.get(meta::LABEL_REVISION).cloned();
        let is_of = |pod: &&ObjectMeta| revision.is_some() && label(pod).as_deref() == revision;
        let mut names: Vec<String> = pods.iter().filter(is_of).filter_map(|pod| pod.name.clone()).collect();
        names.sort();
        names
    };
    Ok(Some(TargetNames {
        updated_pods: of(Some(&update)),
        current_pods: of(pipeline.status.current_revision.as_deref()),
        revision: update,
    }))
}

/// Those that a list finds, neither ended nor being deleted.
async fn live_pods(pods: &Api<Pod>, params: ListParams) -> Result<Vec<ObjectMeta>, kube::Error> {
    let found = pods.list_metadata(&params.fields(LIVE_PODS)).await?;
    let metadata = found.items.into_iter().map(|pod| pod.metadata);
    Ok(metadata.filter(|pod| pod.deletion_timestamp.is_none()).collect())
}
