//! What the API server has, as far as watches told: caches, and who is told of a change.
//!
//! Each kind is watched once (once a namespace with `--watch-namespace`), and everyone reads the same cache. A cache is
//! behind by the time that events take; what must not be decided on old news asks the API server. Must never write to
//! the API server, and never show a part of a list as if it were all.

pub mod analyses;
pub mod cache;
pub mod pipelines;
pub mod triggers;
pub mod watch;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::meta::{
    ANNOTATION_LEGACY_OWNER_NAME, ANNOTATION_LEGACY_OWNER_NAMESPACE, ANNOTATION_OWNER_NAME, ANNOTATION_OWNER_NAMESPACE,
};
use crate::core::collision::PipelineId;

pub use analyses::Analyses;
pub use cache::{Cache, Change, Key};
pub use pipelines::Pipelines;
pub use triggers::Triggers;
pub use watch::Scope;

/// The pipeline that an object of ours, or of the Python operator, says it belongs to; `None` when it does not say.
#[must_use]
pub fn owner_of(metadata: &ObjectMeta) -> Option<PipelineId> {
    let annotations = metadata.annotations.as_ref()?;
    // Ours first: it may stand beside that of the Python operator.
    let get = |ours, theirs| annotations.get(ours).or_else(|| annotations.get(theirs)).cloned();
    Some(PipelineId {
        namespace: get(ANNOTATION_OWNER_NAMESPACE, ANNOTATION_LEGACY_OWNER_NAMESPACE)?,
        name: get(ANNOTATION_OWNER_NAME, ANNOTATION_LEGACY_OWNER_NAME)?,
    })
}

/// The pipeline that this metadata is of.
#[must_use]
pub fn id_of(metadata: &ObjectMeta) -> PipelineId {
    PipelineId {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
    }
}
