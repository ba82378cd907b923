//! Fields that the API server does not know, for files that it has not seen. Clients that ask it to be strict, as kubectl
//! does, are refused; for others it drops them.
//!
//! Must never be among the warnings of the webhook: what that is shown has lost such fields already.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value};

use super::warnings::{shorten, warning};
use crate::api::{manifests, meta};
use crate::core::path::{At, FieldPath};
use crate::core::violation::Warning;

/// Name of the rule.
pub const UNKNOWN_FIELD: &str = "unknown-field";

/// The schema of a StreamingPipeline in the CRD. Without one nothing is unknown.
static SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| manifests::schema_of(meta::KIND));
/// That of a RolloutAnalysis.
static ANALYSIS_SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| manifests::schema_of(meta::ANALYSIS_KIND));

/// Every field of a raw RolloutAnalysis, by its `kind`, or else StreamingPipeline that the API server does not know, at each level that the CRD closes and in
/// `metadata`, a warning each of less than 120 characters.
#[must_use]
pub fn unknown_fields(object: &Value) -> Vec<Warning> {
    let mut found = Vec::new();
    let schema = match object.get("kind").and_then(Value::as_str) {
        Some(meta::ANALYSIS_KIND) => &*ANALYSIS_SCHEMA,
        _ => &*SCHEMA,
    };
    let known = schema.properties.as_ref();
    for (field, value) in object.as_object().into_iter().flatten() {
        let at = At::Key(&At::Root, field);
        match (field.as_str(), known.and_then(|known| known.get(field))) {
            // Every object has these, whatever its schema says.
            ("apiVersion" | "kind", _) => {}
            ("metadata", _) => found.extend(of_metadata(value)),
            (_, Some(schema)) => collect(schema, value, &at, &mut found),
            (_, None) => found.push(at.path()),
        }
    }
    let told = found.iter().map(|path| {
        let message = "is an unknown field: kubectl refuses it, other clients drop it";
        let mut told = warning(UNKNOWN_FIELD, path, message);
        shorten(&mut told);
        told
    });
    told.collect()
}

/// Fields below `value` that `schema` does not have. What is of another type than it says is another rule's matter.
fn collect(schema: &JSONSchemaProps, value: &Value, at: &At<'_>, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) if schema.type_.as_deref() == Some("object") => {
            if schema.x_kubernetes_preserve_unknown_fields == Some(true) {
                return;
            }
            let known = schema.properties.as_ref();
            for (field, value) in fields {
                let at = At::Key(at, field);
                match (known.and_then(|known| known.get(field)), &schema.additional_properties) {
                    (Some(schema), _) => collect(schema, value, &at, found),
                    (None, Some(JSONSchemaPropsOrBool::Schema(schema))) => collect(schema, value, &at, found),
                    (None, Some(JSONSchemaPropsOrBool::Bool(true))) => {}
                    (None, _) => found.push(at.path()),
                }
            }
        }
        Value::Array(elements) => {
            if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
                for (index, element) in elements.iter().enumerate() {
                    collect(items, element, &At::Index(at, index), found);
                }
            }
        }
        _ => {}
    }
}

/// Fields of `metadata` that Kubernetes' type does not have, each field read for itself, so that one of a wrong type
/// hides no other.
fn of_metadata(metadata: &Value) -> Vec<FieldPath> {
    let mut found = Vec::new();
    for (field, value) in metadata.as_object().into_iter().flatten() {
        let alone = Value::Object(Map::from_iter([(field.clone(), value.clone())]));
        let mut note = |path: serde_ignored::Path<'_>| {
            let path = FieldPath::from(&path);
            found.push(FieldPath::default().key("metadata").join(path.steps()));
        };
        // What cannot be read is told as a fault.
        let _read = serde_ignored::deserialize::<_, _, ObjectMeta>(&alone, &mut note);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(object: &Value) -> Vec<String> {
        unknown_fields(object).into_iter().map(|warning| warning.path).collect()
    }

    #[test]
    fn a_field_is_unknown_at_every_level_that_the_schema_closes() {
        let object = json!({
            "apiVersion": "v", "kind": "k", "sepc": {},
            "metadata": {"name": "n", "namspace": "x", "labels": {"any": "v"},
                         "ownerReferences": [{"kind": "K", "nam": "x"}]},
            "spec": {"rolout": {}, "rollout": {"pausd": true, "paused": true}, "replica": null},
            "status": {"replicas": {"primary": 1, "other": 2}, "fase": "x", "conditions": [{"typ": "Ready"}]},
        });
        assert_eq!(
            paths(&object),
            [
                "sepc",
                "metadata.namspace",
                "metadata.ownerReferences[0].nam",
                "spec.rolout",
                "spec.rollout.pausd",
                "spec.replica",
                "status.replicas.other",
                "status.fase",
                "status.conditions[0].typ",
            ]
        );
    }

    #[test]
    fn what_may_hold_anything_holds_nothing_unknown_nor_does_what_is_of_another_type() {
        let object = json!({"metadata": {"name": 5, "labels": [1], "annotations": {"a": "b"}}, "spec": {
            "deployment_template": {"a": {"b": 1}}, "container_template": {"c": 1}, "pipeline_config": {"d": [{"e": 1}]},
            "emergency_patch": {"f": 1}, "replicas": {"a": 1}, "service_name": [{"g": 1}],
            "rollout": {"maxUnavailable": {"h": 1}}}});
        assert_eq!(paths(&object), Vec::<String>::new());
        for object in [json!(null), json!([1]), json!({"spec": 1, "metadata": "x"})] {
            assert_eq!(paths(&object), Vec::<String>::new());
        }
    }

    #[test]
    fn the_warning_is_true_for_kubectl_and_for_other_clients_and_fits_its_line() {
        let told = unknown_fields(&json!({"spec": {"rollout": {"pausd": true}}}));
        assert_eq!(
            told.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["spec.rollout.pausd: is an unknown field: kubectl refuses it, other clients drop it"]
        );
        let told = unknown_fields(&json!({"spec": {"x".repeat(200): 1}}));
        assert!(told[0].to_string().chars().count() < 120, "{}", told[0]);
    }
}
