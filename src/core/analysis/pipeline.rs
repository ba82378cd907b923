//! A pipeline as the target of an analysis. Must never look at a Pod that is not the pipeline's own.

use crate::api::StoredPipeline;
use crate::core::names::Revision;
use crate::core::observed::{Owner, PodFacts};
use crate::core::plan::Orders;

use super::target::TargetFacts;

/// What is known of a pipeline, from itself and its Pods. `None` while it has no update revision: no pass has looked at it
/// yet, or its spec never could be rendered.
#[must_use]
pub fn facts(pipeline: &StoredPipeline, pods: &[PodFacts]) -> Option<TargetFacts> {
    let update = Revision::parse(pipeline.status.update_revision.as_deref()?)?;
    let current = pipeline.status.current_revision.as_deref().and_then(Revision::parse);
    let rolling = current.as_ref() != Some(&update);
    let is_of = |pod: &&PodFacts, revision: &Revision| {
        pod.owner == Owner::Ours && pod.is_live() && pod.revision.as_ref() == Some(revision)
    };
    let of_update = || pods.iter().filter(|pod| is_of(pod, &update));
    let of_current = pods
        .iter()
        .filter(|pod| current.as_ref().is_some_and(|current| is_of(pod, current)));
    let annotations = pipeline.metadata.annotations.clone().unwrap_or_default();
    Some(TargetFacts {
        uid: pipeline.metadata.uid.clone()?,
        rolling,
        available: of_update().any(PodFacts::is_available),
        can_hold: rolling && current.is_some(),
        resume: Orders::read(&annotations)
            .resume
            .map(|(revision, time)| (revision.to_string(), time)),
        updated_pods: of_update().map(|pod| pod.name.clone()).collect(),
        current_pods: of_current.map(|pod| pod.name.clone()).collect(),
        revision: update.to_string(),
    })
}

#[cfg(test)]
mod tests;
