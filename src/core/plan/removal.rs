//! A pipeline that is being deleted.
//!
//! In its own namespace the garbage collector does the work. In another one no ownerReference reaches, so the finalizer
//! holds the pipeline until everything there is gone. Must never hang on a namespace that is going itself.

use crate::core::observed::{NamespaceState, Observed, Owner, PipelineFacts, PodState};

use super::decision::{Action, DeleteReason, ObjectReason, PodDelete};
use super::objects::delete_config_map;

/// What is done for a pipeline that is being deleted.
pub(super) fn actions(pipeline: &PipelineFacts, observed: &Observed) -> Vec<Action> {
    if !pipeline.has_finalizer {
        return Vec::new();
    }
    if !pipeline.is_remote() || observed.namespace != NamespaceState::Active {
        return vec![Action::RemoveFinalizer];
    }
    let pods: Vec<_> = observed.pods.iter().filter(|pod| pod.owner == Owner::Ours).collect();
    let maps: Vec<_> = observed
        .config_maps
        .iter()
        .filter(|map| map.owner == Owner::Ours)
        .collect();
    if pods.is_empty() && maps.is_empty() {
        return vec![Action::RemoveFinalizer];
    }
    let running = pods
        .iter()
        .filter(|pod| matches!(pod.state, PodState::Live | PodState::Ended));
    let deletes = running.map(|pod| {
        Action::DeletePod(PodDelete {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            why: DeleteReason::PipelineDeleted,
            force: false,
        })
    });
    let maps = maps.into_iter().filter(|map| !map.deleting);
    deletes
        .chain(maps.map(|map| delete_config_map(map, ObjectReason::PipelineDeleted)))
        .collect()
}
