//! From a valid pipeline to what is created for it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::streaming_pipeline::OpenObject;

use super::names::{BaseName, Generation, Ordinal, Revision, WorkloadSet};
use super::valid::ValidPipeline;

/// What is created for a revision of a pipeline. Never depends on `replicas`, `with_canary`, `rollout` or `suspend`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The ConfigMap that the Pods of this revision mount.
    pub config: ConfigMapContent,
    /// The primary set.
    pub primary: SetTemplate,
    /// The canary set; rendered also when no canary is wanted. `None` only when none is wanted and its name or template
    /// would be invalid (the name is 7 characters longer than the primary's).
    pub canary: Option<SetTemplate>,
}

/// Content of the immutable ConfigMap of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapContent {
    /// `{service}-pipeline-{pipeline}-{segment}-{first ten hex digits of version}`.
    pub name: String,
    /// The labels that the pipeline gives it; identity labels are the creator's business.
    pub labels: BTreeMap<String, String>,
    /// Value of the key [`CONFIG_KEY`].
    pub text: String,
    /// MD5 of the text, 32 hex digits: `configVersion`.
    pub version: String,
}

/// The key of the config in its ConfigMap.
pub const CONFIG_KEY: &str = "pipeline_config.yaml";

/// The Pod template of one set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetTemplate {
    /// What the set's Pods are named with.
    pub base: BaseName,
    /// `{metadata: {labels, annotations}, spec}`; without the identity of any Pod.
    pub template: OpenObject,
}

impl Rendered {
    /// The template of `set`.
    #[must_use]
    pub const fn set(&self, set: WorkloadSet) -> Option<&SetTemplate> {
        match set {
            WorkloadSet::Primary => Some(&self.primary),
            WorkloadSet::Canary => self.canary.as_ref(),
        }
    }
}

/// The pipeline that a Pod belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Namespace of the pipeline.
    pub namespace: String,
    /// Name of the pipeline.
    pub name: String,
    /// Uid of the pipeline.
    pub uid: String,
}

/// Which Pod is made of a template.
#[derive(Clone, Copy, Debug)]
pub struct PodIdentity<'a> {
    /// What the Pod's name begins with.
    pub base: &'a BaseName,
    /// Its set.
    pub set: WorkloadSet,
    /// Its place in the set.
    pub ordinal: Ordinal,
    /// Which Pod of that place it is.
    pub generation: Generation,
    /// The revision that the template belongs to.
    pub revision: &'a Revision,
    /// The pipeline.
    pub owner: &'a Owner,
    /// The namespace the Pod is created in. An ownerReference is set only when it is the owner's.
    pub namespace: &'a str,
    /// How many failures in a row led to this Pod.
    pub failures: u32,
    /// Whether the consumer gets a Kafka group instance id (policy `Failed`: an ordinal has one live Pod at most).
    pub static_membership: bool,
}

/// Renders a valid pipeline.
#[must_use]
pub fn render(pipeline: &ValidPipeline) -> Rendered {
    let _ = pipeline;
    unreachable!("no pipeline is valid yet")
}

/// The Pod of `identity`, made of a set's template (as rendered, or as stored with a revision).
#[must_use]
pub fn pod_from_template(template: &OpenObject, identity: &PodIdentity<'_>) -> Value {
    let _ = identity;
    Value::Object(template.clone())
}
