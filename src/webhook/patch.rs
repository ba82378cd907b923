//! Defaults as a JSON patch: the difference of the raw object before and after.
//!
//! Must never go through our types: a field that they do not know would be removed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::core::analysis;
use crate::core::defaults::apply_defaults;

/// The patch that writes all absent defaults into `object`, as base64 of its JSON; `None` when nothing is absent.
///
/// Fails never in practice: a patch is made of JSON values.
pub fn of_defaults(object: &Value) -> Result<Option<String>, serde_json::Error> {
    of_difference(&outline(object), apply_defaults)
}

/// The same of an analysis.
///
/// Fails never in practice: a patch is made of JSON values.
pub fn of_analysis_defaults(object: &Value) -> Result<Option<String>, serde_json::Error> {
    of_difference(object, analysis::defaults::apply_defaults)
}

fn of_difference(before: &Value, write: impl Fn(&mut Value)) -> Result<Option<String>, serde_json::Error> {
    let mut after = before.clone();
    write(&mut after);
    let patch = json_patch::diff(before, &after);
    if patch.is_empty() {
        return Ok(None);
    }
    Ok(Some(STANDARD.encode(serde_json::to_vec(&patch)?)))
}

/// The object with null for what defaults do not look into: they ask for the object's name, which fields the spec has,
/// and for those of its rollout. The difference is the same, and most of a spec need not be copied and compared.
fn outline(object: &Value) -> Value {
    let mut outline = Map::new();
    if let Some(name) = object.pointer("/metadata/name") {
        outline.insert(
            "metadata".to_owned(),
            Map::from_iter([("name".to_owned(), name.clone())]).into(),
        );
    }
    let spec = object.get("spec").map(|spec| match spec {
        Value::Object(spec) => spec
            .iter()
            .map(|(field, value)| (field.clone(), kept(field, value)))
            .collect(),
        _ => Value::Null,
    });
    outline.extend(spec.map(|spec| ("spec".to_owned(), spec)));
    Value::Object(outline)
}

fn kept(field: &str, value: &Value) -> Value {
    match field {
        "rollout" => value.clone(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(object: &Value) -> Vec<Value> {
        let patch = of_defaults(object).expect("JSON");
        let patch = patch.map(|text| STANDARD.decode(text).expect("base64"));
        patch.map_or(Vec::new(), |text| serde_json::from_slice(&text).expect("a list"))
    }

    /// The object with every default but those of the given fields.
    fn without(spec: &[&str], rollout: &[&str]) -> Value {
        let mut object = json!({"metadata": {"name": "p"}, "spec": {"pipeline_config": {"a": [1]}}});
        apply_defaults(&mut object);
        let fields = object["spec"].as_object_mut().expect("a spec");
        fields.retain(|field, _| !spec.contains(&field.as_str()));
        let inner = fields.get_mut("rollout").and_then(Value::as_object_mut);
        if let Some(inner) = inner {
            inner.retain(|field, _| !rollout.contains(&field.as_str()));
        }
        object
    }

    #[test]
    fn only_what_is_absent_is_added() {
        assert_eq!(
            patch(&without(&["replicas"], &[])),
            [json!({"op": "add", "path": "/spec/replicas", "value": 1})]
        );
        assert_eq!(
            patch(&without(&[], &["paused"])),
            [json!({"op": "add", "path": "/spec/rollout/paused", "value": false})]
        );
        assert_eq!(
            patch(&without(&["pipeline_name"], &[])),
            [json!({"op": "add", "path": "/spec/pipeline_name", "value": "p"})]
        );
    }

    #[test]
    fn a_whole_object_and_one_without_a_spec_have_no_patch() {
        assert_eq!(patch(&without(&[], &[])), [] as [Value; 0]);
        for object in [
            json!({}),
            json!({"spec": "x"}),
            json!({"metadata": 1, "spec": null}),
            json!(1),
        ] {
            assert_eq!(patch(&object), [] as [Value; 0], "{object}");
        }
    }

    #[test]
    fn what_is_present_is_never_replaced_be_it_null_or_of_a_wrong_type() {
        let mut object = without(&[], &[]);
        object["spec"]["replicas"] = Value::Null;
        object["spec"]["rollout"] = json!([1]);
        object["spec"]["unknown"] = json!({"a": 1});
        assert_eq!(patch(&object), [] as [Value; 0]);
    }
}
