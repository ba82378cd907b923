//! Reads a raw object as far as it can be read, so that one field of a wrong type does not hide the faults of others.
//!
//! Must never fail: a field that cannot be read gets a harmless stand-in, and the rules go on.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Subject;
use crate::api::stored::{decode_spec, decode_typed_fields};
use crate::api::streaming_pipeline::OpenObject;
use crate::api::{LogLevel, Rollout, StreamingPipelineSpec};
use crate::core::defaults::{apply_defaults, default_pipeline_name};
use crate::core::path::{FieldPath, Step};
use crate::core::violation::{FaultKind, Finding};

/// What could not be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// Values of a wrong type.
    types: Vec<Finding>,
    /// Required fields that are absent.
    required: Vec<Finding>,
    /// Names of the fields of `spec` that have a stand-in.
    stand_ins: Vec<&'static str>,
}

impl Reading {
    /// Whether a field of `spec` was read as it stands in the object.
    pub(super) fn has(&self, field: &str) -> bool {
        !self.stand_ins.contains(&field)
    }
}

/// Rule: every field is of its type.
pub(super) fn types(subject: &Subject<'_>) -> Vec<Finding> {
    subject.reading.types.clone()
}

/// Rule: every required field is there.
pub(super) fn required(subject: &Subject<'_>) -> Vec<Finding> {
    subject.reading.required.clone()
}

/// The fields of `spec`: name, whether it is required, and what it must be.
const FIELDS: [(&str, bool, &str); 19] = [
    ("service_name", true, "a string"),
    ("pipeline_name", true, "a string"),
    ("pipeline_module", true, "a string"),
    ("image_name", true, "a string"),
    ("cpu_per_process", true, INTEGER),
    ("memory_per_process", true, INTEGER),
    ("deployment_template", true, "an object"),
    ("container_template", true, "an object"),
    ("pipeline_config", true, "an object"),
    ("replicas", false, INTEGER),
    ("with_canary", false, "true or false"),
    ("segment_id", false, INTEGER),
    ("log_level", false, "one of DEBUG, INFO, WARNING, ERROR"),
    ("enable_liveness_probe", false, "true or false"),
    ("container_name", false, "a string"),
    ("emergency_patch", false, "an object"),
    ("rollout", false, "an object"),
    ("suspend", false, "true or false"),
    ("revisionHistoryLimit", false, INTEGER),
];
const INTEGER: &str = "an integer, without point or exponent";

/// Enumerations: a string that is none of the allowed ones is not of a wrong type.
const ENUMS: [&str; 3] = ["log_level", "podReplacementPolicy", "onFailure"];

/// Reads the `spec` of an object; defaults that are absent count as written.
pub(super) fn read(object: &Value) -> (StreamingPipelineSpec, Reading) {
    let spec = match object.get("spec") {
        // Without a spec there is nowhere to write the default of the name, and it may be known all the same.
        None | Some(Value::Null) => return read_by_field(&OpenObject::new(), default_pipeline_name(object).is_some()),
        Some(Value::Object(spec)) => spec,
        Some(_) => return unreadable_spec(),
    };
    if let Some(read) = read_at_once(object, spec, |spec| decode_spec(spec).ok()) {
        return (read, Reading::default());
    }
    let mut object = object.clone();
    apply_defaults(&mut object);
    let spec = object.get("spec").and_then(Value::as_object);
    read_by_field(spec.unwrap_or(&OpenObject::new()), false)
}

/// [`read`] with the open objects left empty, where nothing is wrong with the spec.
pub(super) fn read_typed_fields(object: &Value) -> (StreamingPipelineSpec, Reading) {
    let spec = object.get("spec").and_then(Value::as_object);
    match spec.and_then(|spec| read_at_once(object, spec, decode_typed_fields)) {
        Some(read) => (read, Reading::default()),
        None => read(object),
    }
}

/// The usual case, a spec that is all of its types; the type has the other defaults itself, so they need not be written
/// into a copy of the object first.
fn read_at_once(
    object: &Value,
    spec: &OpenObject,
    decode: impl FnOnce(&Value) -> Option<StreamingPipelineSpec>,
) -> Option<StreamingPipelineSpec> {
    let has_null = FIELDS
        .iter()
        .any(|(field, ..)| spec.get(*field).is_some_and(Value::is_null));
    if has_null || is_list_of_fields(spec) {
        return None;
    }
    let mut read = decode(object.get("spec")?)?;
    if read.pipeline_name.is_none() {
        read.pipeline_name = Some(default_pipeline_name(object)?.to_owned());
    }
    Some(read)
}

/// Whether `rollout` is a list: the derived reader takes one for the values of the fields in their order.
fn is_list_of_fields(spec: &OpenObject) -> bool {
    spec.get("rollout").is_some_and(Value::is_array)
}

fn unreadable_spec() -> (StreamingPipelineSpec, Reading) {
    let path = FieldPath::default().key("spec");
    let reading = Reading {
        types: vec![Finding::of_value(path, FaultKind::TypeInvalid, "must be an object")],
        required: Vec::new(),
        stand_ins: FIELDS.map(|(field, ..)| field).to_vec(),
    };
    (harmless(), reading)
}

/// `is_named`: the pipeline has the name of its object, though no field says so.
fn read_by_field(spec: &OpenObject, is_named: bool) -> (StreamingPipelineSpec, Reading) {
    let mut reading = Reading::default();
    let mut readable = stand_in();
    for (field, required, expected) in FIELDS {
        match spec.get(field) {
            None if required => {
                if !(is_named && field == "pipeline_name") {
                    reading.required.push(missing(field));
                }
                reading.stand_ins.push(field);
            }
            None => {}
            Some(Value::Null) => {
                let message = format!("is null, must be {expected}, or be left out");
                let finding = Finding::of_value(FieldPath::spec(field), FaultKind::TypeInvalid, message);
                reading.types.push(finding);
                reading.stand_ins.push(field);
            }
            Some(_) if field == "rollout" && is_list_of_fields(spec) => {
                let finding = Finding::of_value(FieldPath::spec(field), FaultKind::TypeInvalid, "must be an object");
                reading.types.push(finding);
                reading.stand_ins.push(field);
            }
            Some(value) => {
                if let Some(value) = read_field(field, expected, value, &mut reading) {
                    readable.insert(field.to_owned(), value);
                } else {
                    reading.stand_ins.push(field);
                }
            }
        }
    }
    // Each field was read for itself, so this cannot fail; if it could, the stand-in alone is as harmless.
    let read = StreamingPipelineSpec::deserialize(&Value::Object(readable)).unwrap_or_else(|_| harmless());
    (read, reading)
}

fn missing(field: &str) -> Finding {
    let message = match field {
        "pipeline_name" => "must be set when the name of the object is not known yet (generateName)",
        _ => "must be set",
    };
    Finding::of_value(FieldPath::spec(field), FaultKind::Required, message)
}

/// The value of a field as far as it can be read: what is wrong inside an object is noted and left out of it. `None`
/// when the field itself is of a wrong type.
fn read_field(field: &str, expected: &str, value: &Value, reading: &mut Reading) -> Option<Value> {
    let mut probe = Value::Object(stand_in());
    if let Value::Object(probe) = &mut probe {
        probe.insert(field.to_owned(), value.clone());
    }
    loop {
        let Err(error) = serde_path_to_error::deserialize::<_, StreamingPipelineSpec>(&probe) else {
            return probe.get(field).cloned();
        };
        let path = FieldPath::from(error.path());
        let message = match path.steps() {
            [_] => format!("must be {expected}"),
            _ => type_message(error.inner()),
        };
        reading.types.push(type_fault(&path, &probe, message));
        let [Step::Key(field), Step::Key(inner), ..] = path.steps() else {
            return None;
        };
        // Each round takes one key away, so this ends.
        probe.get_mut(field)?.as_object_mut()?.remove(inner)?;
    }
}

/// What a deserializer says of a value of a wrong type, in the words of the other rules.
pub(super) fn type_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let rest = ["invalid type: ", "invalid value: ", "unknown variant "]
        .into_iter()
        .find_map(|start| message.strip_prefix(start));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((given, expected)) => format!("is {}, must be {}", given_in_words(given), expected_in_words(expected)),
        // What the reader of numbers says of one with a fraction where it wants none.
        None if message == "invalid number" => "must be an integer".to_owned(),
        None => message,
    }
}

/// What stands there, which the reader names by its type and often its value (`string "maybe"`), in the words of YAML.
fn given_in_words(given: &str) -> String {
    let valued = [
        ("string ", "the string "),
        ("boolean ", "the boolean "),
        ("integer ", "the integer "),
        ("floating point ", "the number "),
    ];
    let valued = valued
        .into_iter()
        .find_map(|(kind, words)| Some(words.to_owned() + given.strip_prefix(kind)?));
    let words = match given {
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "number" => "a number".to_owned(),
        _ => valued.unwrap_or_else(|| given.to_owned()),
    };
    words.replace('`', "")
}

/// What the reader expects, often by the name of its type, in the words of YAML.
fn expected_in_words(expected: &str) -> String {
    match expected {
        "sequence" | "a sequence" => "a list".to_owned(),
        "map" | "a map" => "an object".to_owned(),
        "i32" => "an integer of 32 bits".to_owned(),
        "i64" => "an integer of 64 bits".to_owned(),
        "IntOrString" => "an integer or a string".to_owned(),
        _ => expected.replace('`', ""),
    }
}

fn type_fault(path: &FieldPath, spec: &Value, message: String) -> Finding {
    let is_enum = matches!(path.steps().last(), Some(Step::Key(key)) if ENUMS.contains(&key.as_str()));
    let is_text = path.lookup(spec).is_some_and(Value::is_string);
    let kind = if is_enum && is_text {
        FaultKind::NotSupported
    } else {
        FaultKind::TypeInvalid
    };
    let path = FieldPath::default().key("spec").join(path.steps());
    Finding::of_value(path, kind, message)
}

/// A spec in which no rule finds a fault; its fields stand in for those that another lacks.
fn harmless() -> StreamingPipelineSpec {
    let pipeline = json!({"segments": []});
    StreamingPipelineSpec {
        service_name: "s".to_owned(),
        pipeline_name: Some("p".to_owned()),
        pipeline_module: "m".to_owned(),
        image_name: "i:1".to_owned(),
        cpu_per_process: 1,
        memory_per_process: 1,
        deployment_template: OpenObject::new(),
        container_template: OpenObject::new(),
        pipeline_config: OpenObject::from_iter([("pipeline".to_owned(), pipeline)]),
        replicas: 1,
        with_canary: false,
        segment_id: 0,
        log_level: LogLevel::default(),
        enable_liveness_probe: true,
        container_name: "c".to_owned(),
        emergency_patch: None,
        rollout: Rollout::default(),
        suspend: false,
        revision_history_limit: 10,
    }
}

/// [`harmless`] as an object.
fn stand_in() -> OpenObject {
    match serde_json::to_value(harmless()) {
        Ok(Value::Object(spec)) => spec,
        // Not reached: the type is an object of types that JSON has.
        _ => OpenObject::new(),
    }
}
