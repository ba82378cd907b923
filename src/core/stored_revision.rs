//! What is kept of a revision in its ControllerRevision: the spec as asked for and the templates as rendered then.
//!
//! A Pod is made of these, so that an upgrade of the operator which renders differently restarts nothing. Must never be
//! changed once written: fields may be added, none may change its meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::StreamingPipelineSpec;
use crate::api::streaming_pipeline::OpenObject;

use super::names::WorkloadSet;
use super::render::Rendered;

/// `data` of a ControllerRevision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRevision {
    /// The spec, from which the text of the ConfigMap is rendered again when that is missing.
    pub spec: StreamingPipelineSpec,
    /// The Pod templates.
    pub templates: Templates,
    /// The ConfigMap that its Pods mount, but for its text.
    pub config_map: ConfigMapRef,
}

/// The Pod templates of a revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Templates {
    /// Of the primary set.
    pub primary: OpenObject,
    /// Of the canary set; absent when its name or template would have been invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<OpenObject>,
}

/// The ConfigMap of a revision, but for its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigMapRef {
    /// Its name.
    pub name: String,
    /// The labels that the pipeline gave it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// MD5 of its text.
    pub version: String,
}

impl StoredRevision {
    /// Of a spec and what it renders to.
    #[must_use]
    pub fn new(spec: &StreamingPipelineSpec, rendered: &Rendered) -> Self {
        Self {
            spec: spec.clone(),
            templates: Templates {
                primary: rendered.primary.template.clone(),
                canary: rendered.canary.as_ref().map(|canary| canary.template.clone()),
            },
            config_map: ConfigMapRef {
                name: rendered.config.name.clone(),
                labels: rendered.config.labels.clone(),
                version: rendered.config.version.clone(),
            },
        }
    }

    /// As it stands in the ControllerRevision. Fails when a map's key is no string, which no type here allows.
    pub fn encode(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    /// From what stands in the ControllerRevision.
    pub fn decode(data: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(data)
    }

    /// The template of a set.
    #[must_use]
    pub const fn template(&self, set: WorkloadSet) -> Option<&OpenObject> {
        match set {
            WorkloadSet::Primary => Some(&self.templates.primary),
            WorkloadSet::Canary => self.templates.canary.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_stored_by_this_release_is_read_by_every_later_one() {
        let stored = json!({
            "spec": {
                "service_name": "s", "pipeline_module": "m", "image_name": "i", "cpu_per_process": 1,
                "memory_per_process": 1, "deployment_template": {}, "container_template": {},
                "pipeline_config": {"a": 1.50}
            },
            "templates": {"primary": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}},
            "configMap": {"name": "c", "labels": {}, "version": "v"}
        });
        let read = StoredRevision::decode(&stored).expect("it can be read");
        assert_eq!(read.config_map.name, "c");
        assert_eq!(read.template(WorkloadSet::Canary), None);
        let template = read.template(WorkloadSet::Primary).expect("a template");
        assert_eq!(template["metadata"]["labels"]["a"], "b");
        let again = read.encode().and_then(|data| StoredRevision::decode(&data));
        assert_eq!(again.expect("it can be written and read"), read);
    }
}
