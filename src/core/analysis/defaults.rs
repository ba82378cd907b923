//! Defaults of a RolloutAnalysis, written into the raw object, so that what is stored says what the operator will do.
//!
//! Must never touch a field that is present, be it `null`, or one that our types do not know.

use serde_json::{Value, json};

use crate::core::defaults::fill;

/// Writes every default that is absent into a raw RolloutAnalysis: those of the CRD. Doing it twice changes nothing. An
/// object without a `spec` that is an object stays as it is.
pub fn apply_defaults(object: &mut Value) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        return;
    };
    fill(spec, "interval", || json!("30s"));
    fill(spec, "failureLimit", || json!(3));
    fill(spec, "requiredPasses", || json!(5));
    fill(spec, "initialDelay", || json!("0s"));
    fill(spec, "onNoData", || json!("Pause"));
    fill(spec, "mode", || json!("Enforce"));
    let metrics = spec.get_mut("metrics").and_then(Value::as_array_mut);
    for metric in metrics.into_iter().flatten() {
        if let Value::Object(metric) = metric {
            fill(metric, "source", || json!("default"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{manifests, meta};

    fn defaulted(object: &Value) -> Value {
        let mut object = object.clone();
        apply_defaults(&mut object);
        object
    }

    #[test]
    fn every_default_that_is_absent_is_written_and_twice_changes_nothing() {
        let once = defaulted(&json!({"spec": {"metrics": [{"name": "a"}, 1, {"source": "other"}]}}));
        assert_eq!(
            once,
            json!({"spec": {
                "metrics": [{"name": "a", "source": "default"}, 1, {"source": "other"}],
                "interval": "30s", "failureLimit": 3, "requiredPasses": 5, "initialDelay": "0s", "onNoData": "Pause",
                "mode": "Enforce"}})
        );
        assert_eq!(defaulted(&once), once);
    }

    #[test]
    fn what_is_present_or_unknown_is_left_alone() {
        let object = json!({"spec": {"interval": null, "failureLimit": "x", "requiredPasses": 1, "initialDelay": 1,
            "onNoData": {}, "mode": [], "other": {"a": 1}, "metrics": {"a": 1}}});
        assert_eq!(defaulted(&object), object);
        for object in [json!({}), json!({"spec": null}), json!({"spec": [1]}), json!(null)] {
            assert_eq!(defaulted(&object), object);
        }
    }

    /// The API server fills these in itself; the two must agree, or an object would change with who saw it last.
    #[test]
    fn the_defaults_of_the_crd_are_the_same() {
        let schema = serde_json::to_value(manifests::schema_of(meta::ANALYSIS_KIND)).expect("JSON");
        let written = defaulted(&json!({"spec": {"metrics": [{}]}}));
        let spec = schema.pointer("/properties/spec/properties").expect("properties");
        for (field, value) in written["spec"].as_object().expect("a spec") {
            match field.as_str() {
                "metrics" => assert_eq!(
                    spec["metrics"].pointer("/items/properties/source/default"),
                    value.pointer("/0/source")
                ),
                _ => assert_eq!(spec[field].get("default"), Some(value), "{field}"),
            }
        }
    }
}
