//! What is kept of a revision in its ControllerRevision: the spec as asked for and the templates as rendered then.
//!
//! A Pod is made of these, so that an upgrade of the operator which renders differently restarts nothing. Must never be
//! changed once written: fields may be added, none may change its meaning.
//!
//! The API server compares `data` byte by byte when anything of a ControllerRevision is changed, and what the garbage
//! collector changes (owner references, for `--cascade=orphan`) it writes anew as Go writes JSON. Bytes in another form
//! make every such change fail with "data: field is immutable", and the pipeline could never be deleted. So what is
//! stored is in Go's form from the start: keys sorted ([`StoredRevision::encode`]), and some characters escaped
//! ([`escape_as_go_does`]). Numbers come from the API server and are in Go's form already.

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
        let mut data = serde_json::to_value(self)?;
        data.sort_all_objects();
        Ok(data)
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

/// JSON text with the characters escaped that Go's `encoding/json` escapes and serde does not. They can only stand in
/// strings, so the text means the same.
#[must_use]
pub fn escape_as_go_does(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_stored_has_the_bytes_that_go_would_write() {
        let stored = json!({
            "templates": {"primary": {"spec": {"z": "a<b>&c\u{2028}\n", "a": [{"y": 1.5, "x": null}]}}},
            "configMap": {"version": "v", "name": "c"},
            "spec": {
                "service_name": "s", "pipeline_module": "m", "image_name": "i", "cpu_per_process": 1,
                "memory_per_process": 1, "deployment_template": {}, "container_template": {}, "pipeline_config": {}
            }
        });
        let data = StoredRevision::decode(&stored)
            .and_then(|stored| stored.encode())
            .expect("it can be written");
        let text = escape_as_go_does(&data["templates"].to_string());
        let go = r#"{"primary":{"spec":{"a":[{"x":null,"y":1.5}],"z":"a\u003cb\u003e\u0026c\u2028\n"}}}"#;
        assert_eq!(text, go);
        assert!(
            data.to_string()
                .starts_with(r#"{"configMap":{"labels":{},"name":"c","version":"v"},"spec":{"container_name""#)
        );
    }

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
