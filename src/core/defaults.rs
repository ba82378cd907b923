//! Defaults, written into the raw object, so that what is stored says what the operator will do.
//!
//! Must never touch a field that is present, be it `null`, or one that our types do not know: the webhook's patch is
//! the difference this makes.

use serde_json::{Map, Value, json};

/// Writes every default that is absent into a raw StreamingPipeline (`metadata` and `spec`): those of the CRD, and
/// `pipeline_name`, which is the object's name; with `metadata.generateName` alone that is not known yet, and nothing
/// is written. Doing it twice changes nothing. An object without a `spec` that is an object stays as it is.
pub fn apply_defaults(object: &mut Value) {
    let name = default_pipeline_name(object).map(str::to_owned);
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        return;
    };
    if let Some(name) = name {
        fill(spec, "pipeline_name", || Value::String(name));
    }
    fill(spec, "replicas", || json!(1));
    fill(spec, "with_canary", || json!(false));
    fill(spec, "segment_id", || json!(0));
    fill(spec, "log_level", || json!("INFO"));
    fill(spec, "enable_liveness_probe", || json!(true));
    fill(spec, "container_name", || json!("pipeline-consumer"));
    fill(spec, "suspend", || json!(false));
    fill(spec, "revisionHistoryLimit", || json!(10));
    fill(spec, "rollout", || json!({}));
    if let Some(Value::Object(rollout)) = spec.get_mut("rollout") {
        fill(rollout, "paused", || json!(false));
        fill(rollout, "maxUnavailable", || json!("25%"));
        fill(rollout, "minReadySeconds", || json!(0));
        fill(rollout, "progressDeadlineSeconds", || json!(600));
        fill(rollout, "podReplacementPolicy", || json!("TerminatingOrFailed"));
        fill(rollout, "requireAnalysis", || json!(false));
        fill(rollout, "onFailure", || json!("Pause"));
    }
}

/// What `pipeline_name` is where it is left out: the name of the object, once that is known.
#[must_use]
pub fn default_pipeline_name(object: &Value) -> Option<&str> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// Writes a default into `object`, unless the field is there.
pub(in crate::core) fn fill(object: &mut Map<String, Value>, field: &str, default: impl FnOnce() -> Value) {
    if !object.contains_key(field) {
        object.insert(field.to_owned(), default());
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

    use super::*;
    use crate::api::manifests;

    fn defaulted(object: &Value) -> Value {
        let mut object = object.clone();
        apply_defaults(&mut object);
        object
    }

    #[test]
    fn every_default_that_is_absent_is_written() {
        assert_eq!(
            defaulted(&json!({"metadata": {"name": "p"}, "spec": {}})),
            json!({"metadata": {"name": "p"}, "spec": {
                "pipeline_name": "p", "replicas": 1, "with_canary": false, "segment_id": 0, "log_level": "INFO",
                "enable_liveness_probe": true, "container_name": "pipeline-consumer", "suspend": false,
                "revisionHistoryLimit": 10,
                "rollout": {"paused": false, "maxUnavailable": "25%", "minReadySeconds": 0,
                    "progressDeadlineSeconds": 600, "podReplacementPolicy": "TerminatingOrFailed",
                    "requireAnalysis": false, "onFailure": "Pause"}}})
        );
    }

    #[test]
    fn doing_it_twice_changes_nothing() {
        let once = defaulted(&json!({"metadata": {"name": "p"}, "spec": {"replicas": 3}}));
        assert_eq!(defaulted(&once), once);
    }

    #[test]
    fn what_is_present_or_unknown_is_left_alone() {
        let object = defaulted(&json!({"metadata": {"name": "p"}, "spec": {
            "pipeline_name": "q", "replicas": null, "unknown": {"a": 1}, "rollout": {"paused": true, "other": 1}}}));
        for (pointer, expected) in [
            ("/spec/pipeline_name", json!("q")),
            ("/spec/replicas", json!(null)),
            ("/spec/unknown", json!({"a": 1})),
            ("/spec/rollout/paused", json!(true)),
            ("/spec/rollout/other", json!(1)),
        ] {
            assert_eq!(object.pointer(pointer), Some(&expected), "{pointer}");
        }
    }

    #[test]
    fn a_generated_name_is_not_known_yet() {
        let object = defaulted(&json!({"metadata": {"generateName": "p-"}, "spec": {}}));
        assert_eq!(object.pointer("/spec/pipeline_name"), None);
    }

    #[test]
    fn an_object_without_a_spec_stays_as_it_is() {
        for object in [json!({}), json!({"spec": null}), json!({"spec": [1]}), json!(null)] {
            assert_eq!(defaulted(&object), object);
        }
    }

    /// The API server fills these in itself; the two must agree, or an object would change with who saw it last.
    #[test]
    fn the_defaults_of_the_crd_are_the_same() {
        let crds = manifests::crds();
        let schema = crds
            .first()
            .and_then(|crd| crd.spec.versions.first())
            .and_then(|version| version.schema.as_ref())
            .and_then(|schema| schema.open_api_v3_schema.as_ref())
            .expect("a schema");
        let written = defaulted(&json!({"metadata": {"name": "p"}, "spec": {}}));
        let spec = property(schema, "spec");
        for (field, value) in written.get("spec").and_then(Value::as_object).expect("a spec") {
            match field.as_str() {
                "pipeline_name" => assert_eq!(property(spec, field).default, None),
                "rollout" => {
                    let rollout = property(spec, field);
                    assert_eq!(rollout.default.as_ref().map(|d| &d.0), Some(&json!({})));
                    for (field, value) in value.as_object().expect("an object") {
                        assert_eq!(
                            property(rollout, field).default.as_ref().map(|d| &d.0),
                            Some(value),
                            "{field}"
                        );
                    }
                }
                _ => assert_eq!(
                    property(spec, field).default.as_ref().map(|d| &d.0),
                    Some(value),
                    "{field}"
                ),
            }
        }
    }

    fn property<'a>(schema: &'a JSONSchemaProps, name: &str) -> &'a JSONSchemaProps {
        schema
            .properties
            .as_ref()
            .and_then(|p| p.get(name))
            .expect("a property")
    }
}
