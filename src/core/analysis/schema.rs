//! What the schema of the CRD asks of a RolloutAnalysis, for files that no API server has seen.
//!
//! Must never have a number or a list of its own: the schema has them, and the API server judges by the same.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use serde_json::Value;

use crate::api::{manifests, meta};
use crate::core::path::At;
use crate::core::violation::{FaultKind, Finding};

static SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| manifests::schema_of(meta::ANALYSIS_KIND));

/// Every type, length, range and list of values that `spec` breaks, and every required field that it lacks. Patterns
/// and rules in CEL are other rules' matter, which say what is meant by them.
pub(super) fn faults(object: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    let spec = SCHEMA.properties.as_ref().and_then(|fields| fields.get("spec"));
    let at = At::Key(&At::Root, "spec");
    match (spec, object.get("spec").filter(|spec| !spec.is_null())) {
        (Some(schema), Some(spec)) => look(schema, spec, &at, &mut found),
        _ => found.push(missing(&at)),
    }
    found
}

fn missing(at: &At<'_>) -> Finding {
    Finding::of_value(at.path(), FaultKind::Required, "must be set")
}

/// Judges a value and what lies in it. The schema is as deep as the types are, so this ends.
fn look(schema: &JSONSchemaProps, value: &Value, at: &At<'_>, found: &mut Vec<Finding>) {
    let mut note = |kind, message: String| found.push(Finding::of_value(at.path(), kind, message));
    match (schema.type_.as_deref().unwrap_or_default(), value) {
        (_, Value::Null) => {
            let message = format!("is null, must be {}, or be left out", in_words(schema));
            note(FaultKind::TypeInvalid, message);
        }
        ("object", Value::Object(fields)) => {
            for field in schema.required.iter().flatten() {
                if fields.get(field).is_none_or(Value::is_null) {
                    found.push(missing(&At::Key(at, field)));
                }
            }
            let required = |field: &String| schema.required.iter().flatten().any(|other| other == field);
            for (field, schema) in schema.properties.iter().flatten() {
                if let Some(value) = fields.get(field).filter(|value| !(value.is_null() && required(field))) {
                    look(schema, value, &At::Key(at, field), found);
                }
            }
        }
        ("array", Value::Array(elements)) => {
            if let Some((kind, message)) = count_fault(schema, elements.len()) {
                note(kind, message);
            }
            if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
                for (index, element) in elements.iter().enumerate() {
                    look(items, element, &At::Index(at, index), found);
                }
            }
        }
        ("string", Value::String(text)) => {
            if let Some((kind, message)) = text_fault(schema, text) {
                note(kind, message);
            }
        }
        ("integer" | "number", Value::Number(number)) => {
            if let Some((kind, message)) = number_fault(schema, number) {
                note(kind, message);
            }
        }
        ("boolean", Value::Bool(_)) => {}
        _ => note(FaultKind::TypeInvalid, format!("must be {}", in_words(schema))),
    }
}

fn in_words(schema: &JSONSchemaProps) -> String {
    match schema.type_.as_deref() {
        Some("object") => "an object".to_owned(),
        Some("array") => "a list".to_owned(),
        Some("integer") => "an integer".to_owned(),
        Some("string") if schema.enum_.is_some() => format!("one of {}", values(schema)),
        Some("boolean") => "true or false".to_owned(),
        other => format!("a {}", other.unwrap_or("value")),
    }
}

fn values(schema: &JSONSchemaProps) -> String {
    let values = schema.enum_.iter().flatten();
    let values: Vec<_> = values.filter_map(|value| value.0.as_str()).collect();
    values.join(", ")
}

fn text_fault(schema: &JSONSchemaProps, text: &str) -> Option<(FaultKind, String)> {
    let is_listed = |values: &Vec<JSON>| values.iter().any(|value| value.0 == text);
    if schema.enum_.as_ref().is_some_and(|values| !is_listed(values)) {
        return Some((FaultKind::NotSupported, format!("must be one of {}", values(schema))));
    }
    // As the API server counts them: in characters.
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if length < schema.min_length.unwrap_or(0) {
        return Some((FaultKind::Invalid, "must not be empty".to_owned()));
    }
    let max = schema.max_length?;
    let message = || format!("has {length} characters, at most {max} are allowed");
    (length > max).then(|| (FaultKind::TooLong, message()))
}

fn count_fault(schema: &JSONSchemaProps, count: usize) -> Option<(FaultKind, String)> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    if count < schema.min_items.unwrap_or(0) {
        return Some((FaultKind::Invalid, "must not be empty".to_owned()));
    }
    let max = schema.max_items?;
    let message = || format!("has {count} entries, at most {max} are allowed");
    (count > max).then(|| (FaultKind::TooLong, message()))
}

fn number_fault(schema: &JSONSchemaProps, number: &serde_json::Number) -> Option<(FaultKind, String)> {
    let is_integer = schema.type_.as_deref() == Some("integer");
    let value = number.as_f64().filter(|value| value.is_finite());
    let Some(value) = value.filter(|_| !is_integer || number.as_i64().is_some()) else {
        return Some((FaultKind::TypeInvalid, format!("must be {}", in_words(schema))));
    };
    let (min, max) = (schema.minimum?, schema.maximum?);
    let message = || format!("is {number}, must be from {min} to {max}");
    (!(min..=max).contains(&value)).then(|| (FaultKind::Invalid, message()))
}
