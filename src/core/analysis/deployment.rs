//! A Deployment as the target of an analysis.
//!
//! Which Pods are of the newest template is known from its ReplicaSets: the Deployment's controller writes the number of a
//! rollout both on the Deployment and on the ReplicaSet that it belongs to. Must never take the newest ReplicaSet for
//! that of a template which the controller has not seen yet.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::deployment::StoredDeployment;
use crate::api::meta::ANNOTATION_RESUME;
use crate::core::revision::of_template;
use crate::core::settings::whole_seconds;

use super::target::TargetFacts;

/// Annotation of the Deployment's controller: which rollout of the Deployment it is, decimal.
const ANNOTATION_ROLLOUT: &str = "deployment.kubernetes.io/revision";
/// Fewest digits of a revision by which an order can name it.
const REVISION_DIGITS_MIN: usize = 10;

/// What is known of a Deployment, from itself, the ReplicaSets that its selector finds, and the metadata of the live Pods
/// that it finds.
#[must_use]
pub fn facts(live: &StoredDeployment, replica_sets: &[ReplicaSet], pods: &[ObjectMeta]) -> TargetFacts {
    let uid = live.metadata.uid.clone().unwrap_or_default();
    let revision = of_template(&live.spec.template);
    let wanted = live.spec.replicas.unwrap_or(1);
    let lags = live.status.observed_generation < live.metadata.generation;
    let status = &live.status;
    let newest = newest(live, replica_sets).filter(|_| !lags && status.updated_replicas > 0);
    let is_of = |pod: &&ObjectMeta, set: &ReplicaSet| owner(pod) == set.metadata.uid.as_deref();
    let is_own = |set: &&ReplicaSet| owner(&set.metadata) == Some(&uid);
    let own_sets: Vec<&ReplicaSet> = replica_sets.iter().filter(is_own).collect();
    let live_pods = || pods.iter().filter(|pod| pod.deletion_timestamp.is_none());
    let is_updated = |pod: &&ObjectMeta| newest.is_some_and(|set| is_of(pod, set));
    let is_current = |pod: &&ObjectMeta| !is_updated(pod) && own_sets.iter().any(|set| is_of(pod, set));
    TargetFacts {
        rolling: lags || status.updated_replicas < wanted || status.available_replicas < wanted,
        available: newest.is_some_and(|set| available(set) > 0),
        can_hold: true,
        resume: resume(&live.metadata, &revision),
        updated_pods: names(live_pods().filter(is_updated)),
        current_pods: names(live_pods().filter(is_current)),
        uid,
        revision,
    }
}

/// The ReplicaSet of the rollout that the Deployment's controller made last.
fn newest<'a>(live: &StoredDeployment, replica_sets: &'a [ReplicaSet]) -> Option<&'a ReplicaSet> {
    let rollout = |metadata: &ObjectMeta| metadata.annotations.as_ref()?.get(ANNOTATION_ROLLOUT).cloned();
    let last = rollout(&live.metadata)?;
    replica_sets.iter().find(|set| {
        owner(&set.metadata) == live.metadata.uid.as_deref() && rollout(&set.metadata).as_ref() == Some(&last)
    })
}

/// Uid of the controller that an object belongs to.
fn owner(metadata: &ObjectMeta) -> Option<&str> {
    let mut owners = metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true))?;
    Some(&controller.uid)
}

fn available(set: &ReplicaSet) -> i32 {
    set.status
        .as_ref()
        .and_then(|status| status.available_replicas)
        .unwrap_or(0)
}

fn names<'a>(pods: impl Iterator<Item = &'a ObjectMeta>) -> Vec<String> {
    let mut names: Vec<String> = pods.filter_map(|pod| pod.name.clone()).collect();
    names.sort();
    names
}

/// A person's order to let this revision try again: `<the first digits of the revision, ten or more>@<RFC 3339>`.
fn resume(metadata: &ObjectMeta, revision: &str) -> Option<(String, jiff::Timestamp)> {
    let order = metadata.annotations.as_ref()?.get(ANNOTATION_RESUME)?;
    let (of, time) = order.trim().split_once('@')?;
    let is_of_it = of.len() >= REVISION_DIGITS_MIN && revision.starts_with(of);
    let time = whole_seconds(time.parse().ok()?);
    is_of_it.then(|| (revision.to_owned(), time))
}

#[cfg(test)]
mod tests;
