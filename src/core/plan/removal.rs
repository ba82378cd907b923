//! A pipeline that is being deleted.
//!
//! In its own namespace the garbage collector does the work. In another one no ownerReference reaches, so the finalizer
//! holds the pipeline until everything there is gone; so do those of the Python operator while anything of it is left.
//! Must never hang on a namespace that is going itself.

use crate::core::observed::{NamespaceState, Observed, Owner, PipelineFacts, PodFacts, PodState};

use super::decision::{Action, DeleteReason, ObjectReason, PodDelete};
use super::legacy;
use super::objects::delete_config_map;

/// What is done for a pipeline that is being deleted.
pub(super) fn actions(pipeline: &PipelineFacts, observed: &Observed) -> Vec<Action> {
    if observed.legacy.unreadable.is_some() {
        // The consumers that nobody can see would run on without the pipeline.
        return Vec::new();
    }
    let is_active = observed.namespace == NamespaceState::Active;
    let is_held = |pod: &&PodFacts| match pod.owner {
        Owner::Ours => pipeline.has_finalizer && pipeline.is_remote() && is_active,
        Owner::OldNamespace => true,
        Owner::Predecessor => false,
    };
    let pods: Vec<_> = observed.pods.iter().filter(is_held).collect();
    let maps = observed.config_maps.iter().filter(|map| map.owner == Owner::Ours);
    let maps: Vec<_> = maps
        .filter(|_| pipeline.has_finalizer && pipeline.is_remote() && is_active)
        .collect();
    let deployments = &observed.legacy.deployments;
    let legacy_maps: Vec<_> = legacy::config_maps(observed).collect();
    if pods.is_empty() && maps.is_empty() && deployments.is_empty() && legacy_maps.is_empty() {
        // One after the other: both replace the finalizers as a whole.
        let theirs = observed.legacy.has_marks.then_some(Action::RemoveLegacyMarks);
        let ours = pipeline.has_finalizer.then_some(Action::RemoveFinalizer);
        return theirs.or(ours).into_iter().collect();
    }
    let running = pods
        .into_iter()
        .filter(|pod| matches!(pod.state, PodState::Live | PodState::Ended));
    let deletes = running
        .filter_map(|pod| PodDelete::of(&pod.name, &pod.uid, DeleteReason::PipelineDeleted))
        .map(Action::DeletePod);
    let maps = maps.into_iter().filter(|map| !map.deleting);
    let deployments = deployments.iter().filter(|deployment| !deployment.deleting);
    deletes
        .chain(maps.map(|map| delete_config_map(map, ObjectReason::PipelineDeleted)))
        .chain(deployments.map(legacy::delete))
        .chain(legacy_maps)
        .collect()
}
