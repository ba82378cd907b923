//! Rules on sizes: what is larger does not fit into etcd beside its status and its history.

use std::io;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::Subject;
use crate::api::StreamingPipelineSpec;
use crate::api::streaming_pipeline::OpenObject;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding};

/// Longest text of a config. A ConfigMap holds 1 MiB.
const CONFIG_BYTES_MAX: usize = 512 * 1024;
/// Longest spec as JSON. A request to etcd holds 1.5 MiB, and the revision's copy of the spec carries templates too.
const SPEC_BYTES_MAX: usize = 700 * 1024;
/// Most levels of objects and lists in a field that may hold anything. Readers of JSON commonly stop at 128, and in a
/// list of revisions a template lies deeper than in the spec. Kubernetes' own objects have about 15.
const NESTING_LEVELS_MAX: usize = 64;
/// The most levels that are told as a number.
const LEVELS_TOLD_MAX: usize = 90;

/// Rule: the text of the config is not too long.
pub(super) fn config(subject: &Subject<'_>) -> Vec<Finding> {
    let length = subject.composition.config_text.len();
    let path = || FieldPath::spec("pipeline_config");
    too_long(path, length, CONFIG_BYTES_MAX, "as the text in its ConfigMap")
}

/// Rule: the spec is not too long.
pub(super) fn spec(subject: &Subject<'_>) -> Vec<Finding> {
    if spec_bytes_at_most(&subject.spec) <= SPEC_BYTES_MAX {
        return Vec::new();
    }
    let mut counter = Counter(0);
    // Counting cannot fail, and the spec is of types that JSON has.
    let _ = serde_json::to_writer(&mut counter, &*subject.spec);
    let path = || FieldPath::default().key("spec");
    too_long(path, counter.0, SPEC_BYTES_MAX, "as JSON")
}

/// Rule: what may hold anything is not nested so deep that a reader of our objects would stop at it.
pub(super) fn nesting(subject: &Subject<'_>) -> Vec<Finding> {
    let spec = &*subject.spec;
    let fields = [
        ("deployment_template", Some(&spec.deployment_template)),
        ("container_template", Some(&spec.container_template)),
        ("pipeline_config", Some(&spec.pipeline_config)),
        ("emergency_patch", spec.emergency_patch.as_ref()),
    ];
    let found = fields.into_iter().filter_map(|(field, object)| {
        let levels = 1 + object?.values().map(levels).max().unwrap_or(0);
        (levels > NESTING_LEVELS_MAX).then(|| {
            // Of what is nested deeper than a reader goes, the rest was not read.
            let levels_told = if levels > LEVELS_TOLD_MAX {
                format!("over {LEVELS_TOLD_MAX}")
            } else {
                levels.to_string()
            };
            let message = format!("is nested {levels_told} levels deep, at most {NESTING_LEVELS_MAX} are allowed");
            Finding::of_value(FieldPath::spec(field), FaultKind::Invalid, message)
        })
    });
    found.collect()
}

/// As many bytes as a spec can have as JSON: a rough count, which nearly always saves an exact one.
fn spec_bytes_at_most(spec: &StreamingPipelineSpec) -> usize {
    /// Room for the names of all fields, and for the values of those that are neither texts nor open objects.
    const FIELDS_BYTES_MAX: usize = 2048;
    let texts = [
        &spec.service_name,
        &spec.pipeline_module,
        &spec.image_name,
        &spec.container_name,
    ];
    let texts = texts
        .into_iter()
        .chain(&spec.pipeline_name)
        .chain(&spec.rollout.restart_at);
    let templates = [
        &spec.deployment_template,
        &spec.container_template,
        &spec.pipeline_config,
    ];
    let objects = templates.into_iter().chain(&spec.emergency_patch);
    let percentage = match &spec.rollout.max_unavailable {
        IntOrString::Int(_) => 0,
        IntOrString::String(text) => text_bytes_at_most(text),
    };
    FIELDS_BYTES_MAX
        + percentage
        + texts.map(|text| text_bytes_at_most(text)).sum::<usize>()
        + objects.map(object_bytes_at_most).sum::<usize>()
}

fn object_bytes_at_most(object: &OpenObject) -> usize {
    let fields = object.iter();
    2 + fields
        .map(|(key, value)| 2 + text_bytes_at_most(key) + bytes_at_most(value))
        .sum::<usize>()
}

fn bytes_at_most(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(literal) => literal.as_str().len(),
        Value::String(text) => text_bytes_at_most(text),
        Value::Array(elements) => 2 + elements.iter().map(|element| 1 + bytes_at_most(element)).sum::<usize>(),
        Value::Object(fields) => object_bytes_at_most(fields),
    }
}

/// A byte that is escaped becomes six at most (`\u001f`).
const fn text_bytes_at_most(text: &str) -> usize {
    2 + 6 * text.len()
}

/// Objects and lists around the innermost value. What was read has at most some hundred, so the stack lasts.
fn levels(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        Value::Array(elements) => 1 + elements.iter().map(levels).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn too_long(path: impl FnOnce() -> FieldPath, length: usize, length_max: usize, form: &str) -> Vec<Finding> {
    if length <= length_max {
        return Vec::new();
    }
    let message = format!("has {length} bytes {form}, at most {length_max} are allowed");
    vec![Finding::of_value(path(), FaultKind::TooLong, message)]
}

/// Counts what is written.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
