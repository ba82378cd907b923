//! Which fields of a spec an edit changes, and which of them make the new revision. Must never say by itself what makes
//! one: it asks `revision` for each field.

use crate::api::StreamingPipelineSpec;
use crate::core::revision::revision;

/// A field of the spec that an edit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its path below `spec`, such as `image_name` or `rollout.paused`.
    pub field: &'static str,
    /// Whether the change makes another revision, so that Pods are replaced for it.
    pub makes_revision: bool,
}

/// Puts the value of one field from one spec into another.
type Copy = fn(&mut StreamingPipelineSpec, &StreamingPipelineSpec);

/// A row of [`FIELDS`].
macro_rules! field {
    ($name:literal, $($path:ident).+) => {
        ($name, |to, from| to.$($path).+.clone_from(&from.$($path).+))
    };
}

/// Every field, in the order of the type. A test compares the names with those of the type.
const FIELDS: [(&str, Copy); 26] = [
    field!("service_name", service_name),
    field!("pipeline_name", pipeline_name),
    field!("pipeline_module", pipeline_module),
    field!("image_name", image_name),
    field!("cpu_per_process", cpu_per_process),
    field!("memory_per_process", memory_per_process),
    field!("deployment_template", deployment_template),
    field!("container_template", container_template),
    field!("pipeline_config", pipeline_config),
    field!("replicas", replicas),
    field!("with_canary", with_canary),
    field!("segment_id", segment_id),
    field!("log_level", log_level),
    field!("enable_liveness_probe", enable_liveness_probe),
    field!("container_name", container_name),
    field!("emergency_patch", emergency_patch),
    field!("rollout.paused", rollout.paused),
    field!("rollout.maxUnavailable", rollout.max_unavailable),
    field!("rollout.minReadySeconds", rollout.min_ready_seconds),
    field!("rollout.progressDeadlineSeconds", rollout.progress_deadline_seconds),
    field!("rollout.podReplacementPolicy", rollout.pod_replacement_policy),
    field!("rollout.restartAt", rollout.restart_at),
    field!("rollout.requireAnalysis", rollout.require_analysis),
    field!("rollout.onFailure", rollout.on_failure),
    field!("suspend", suspend),
    field!("revisionHistoryLimit", revision_history_limit),
];

/// The fields in which two specs of the object named `object_name` differ.
#[must_use]
pub fn edited_fields(object_name: &str, old: &StreamingPipelineSpec, new: &StreamingPipelineSpec) -> Vec<Edited> {
    let before = revision(old, object_name);
    let edited = FIELDS.iter().filter_map(|(field, copy)| {
        let mut one = old.clone();
        copy(&mut one, new);
        (one != *old).then(|| Edited {
            field,
            makes_revision: revision(&one, object_name) != before,
        })
    });
    edited.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::api::StreamingPipeline;
    use kube::CustomResourceExt;

    use super::FIELDS;

    #[test]
    fn every_field_of_the_schema_is_compared() {
        let crd = serde_json::to_value(StreamingPipeline::crd()).expect("a CRD");
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        let mut fields = BTreeSet::new();
        for (field, schema) in spec.as_object().expect("fields") {
            if field == "rollout" {
                let inner = schema["properties"].as_object().expect("fields");
                fields.extend(inner.keys().map(|inner| format!("rollout.{inner}")));
            } else {
                fields.insert(field.clone());
            }
        }
        let compared: BTreeSet<String> = FIELDS.iter().map(|(field, _)| (*field).to_owned()).collect();
        assert_eq!(compared, fields);
    }
}
