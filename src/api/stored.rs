//! A StreamingPipeline as it lies in the API server, read so that one bad object never disturbs the others.
//!
//! A typed list or watch fails as a whole when a single stored object cannot be decoded. Here the spec is text that is
//! decoded when it is asked for, with the path of a fault, and a status that another operator wrote is read as far as it goes.
//! The parts are taken as text first: a value nested deeper than the JSON reader goes is a fault of its object too, and
//! `managedFields`, which repeat the nesting of the spec, are not read at all.
//! Must never fail on anything that the API server can hand out.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::as_resource::as_resource;
use super::status::{SetGenerations, StreamingPipelineStatus};
use super::streaming_pipeline::{OpenObject, StreamingPipeline, StreamingPipelineSpec};

/// A StreamingPipeline as stored.
#[derive(Clone, Debug)]
pub struct StoredPipeline {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Its spec.
    pub spec: StoredSpec,
    /// Its status, as far as it could be read; empty for what could not.
    pub status: StreamingPipelineStatus,
    /// Whether the stored status differs from what `status` would be written as, so that a write is due even when the
    /// computed status equals `status`.
    pub status_is_foreign: bool,
}

/// A spec as its text. As values one of 2 kB takes ten times its length of memory, thousands of them are kept, and most are
/// looked at once an hour. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSpec(Arc<str>);

impl StoredSpec {
    /// The spec, or why it cannot be read.
    pub fn read(&self) -> Result<StreamingPipelineSpec, DecodeFault> {
        let spec: Value = serde_json::from_str(&self.0).map_err(|error| DecodeFault {
            path: "spec".to_owned(),
            message: format!("cannot be read as JSON: {error}"),
        })?;
        decode_spec(&spec)
    }

    /// The spec with its untyped objects left empty; `None` when it cannot be read.
    #[must_use]
    pub fn typed_fields(&self) -> Option<StreamingPipelineSpec> {
        decode_typed_fields(&serde_json::from_str(&self.0).ok()?)
    }
}

/// Why a JSON value is not of the type it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeFault {
    /// Path of the fault from the root of the object, such as `spec.rollout.maxUnavailable`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// Reads a `spec`.
///
/// Fails with the path (beginning with `spec`) of the first value that is of another type.
pub fn decode_spec(spec: &Value) -> Result<StreamingPipelineSpec, DecodeFault> {
    if let Some(read) = decode_by_copy(spec) {
        return Ok(read);
    }
    serde_path_to_error::deserialize(spec).map_err(fault_of_spec)
}

/// A fault that was met while a spec was read, with its path from the root of the object.
pub(super) fn fault_of_spec(error: serde_path_to_error::Error<serde_json::Error>) -> DecodeFault {
    let path = match error.path().to_string().as_str() {
        "." => "spec".to_owned(),
        path => format!("spec.{path}"),
    };
    DecodeFault {
        path,
        message: error.into_inner().to_string(),
    }
}

/// The usual case, without looking for the path of a fault. The untyped objects, which are most of a spec, are copied as
/// a whole: key by key they would be hashed anew, and cost as much as rendering.
fn decode_by_copy(spec: &Value) -> Option<StreamingPipelineSpec> {
    let mut read = decode_typed_fields(spec)?;
    let open = |field: &str| spec.get(field).and_then(Value::as_object).cloned();
    read.deployment_template = open("deployment_template")?;
    read.container_template = open("container_template")?;
    read.pipeline_config = open("pipeline_config")?;
    read.emergency_patch = open("emergency_patch");
    Some(read)
}

/// Reads a `spec` with its untyped objects left empty, for who asks for other fields only; `None` when it cannot be read.
#[must_use]
pub fn decode_typed_fields(spec: &Value) -> Option<StreamingPipelineSpec> {
    const OPEN: [&str; 4] = [
        "deployment_template",
        "container_template",
        "pipeline_config",
        "emergency_patch",
    ];
    let fields = spec.as_object()?;
    let empty = Value::Object(OpenObject::new());
    let shallow = fields.iter().map(|(field, value)| {
        let is_open = value.is_object() && OPEN.contains(&field.as_str());
        (field.as_str(), if is_open { &empty } else { value })
    });
    let shallow = MapDeserializer::<_, serde_json::Error>::new(shallow);
    StreamingPipelineSpec::deserialize(shallow).ok()
}

/// Reads a `status` as far as it can be read. What other operators wrote in another shape is as good as absent, but for
/// `generations` and `workload_namespace`, which are read for themselves.
fn decode_status(status: &Value) -> StreamingPipelineStatus {
    if let Ok(read) = StreamingPipelineStatus::deserialize(status) {
        return read;
    }
    StreamingPipelineStatus {
        workload_namespace: status
            .get("workload_namespace")
            .and_then(Value::as_str)
            .map(str::to_owned),
        generations: status.get("generations").map(decode_generations),
        ..StreamingPipelineStatus::default()
    }
}

fn decode_generations(generations: &Value) -> SetGenerations {
    let set = |name| {
        let entries = generations.get(name).and_then(Value::as_object);
        entries
            .into_iter()
            .flatten()
            .filter_map(|(ordinal, generation)| Some((ordinal.clone(), u16::try_from(generation.as_u64()?).ok()?)))
            .collect()
    };
    SetGenerations {
        primary: set("primary"),
        canary: set("canary"),
    }
}

/// The metadata that is read: all but `managedFields` and what the API server no longer sets.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
}

impl From<Metadata> for ObjectMeta {
    fn from(read: Metadata) -> Self {
        Self {
            name: read.name,
            generate_name: read.generate_name,
            namespace: read.namespace,
            uid: read.uid,
            resource_version: read.resource_version,
            generation: read.generation,
            creation_timestamp: read.creation_timestamp,
            deletion_timestamp: read.deletion_timestamp,
            deletion_grace_period_seconds: read.deletion_grace_period_seconds,
            labels: read.labels,
            annotations: read.annotations,
            owner_references: read.owner_references,
            finalizers: read.finalizers,
            managed_fields: None,
            self_link: None,
        }
    }
}

impl<'de> Deserialize<'de> for StoredPipeline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            #[serde(default)]
            metadata: Metadata,
            spec: Option<Box<RawValue>>,
            status: Option<Box<RawValue>>,
        }
        let raw = Raw::deserialize(deserializer)?;
        let stored_status: Option<Value> = raw.status.and_then(|text| serde_json::from_str(text.get()).ok());
        let stored_status = stored_status.unwrap_or_default();
        let status = decode_status(&stored_status);
        let rewritten = serde_json::to_value(&status).unwrap_or_default();
        let status_is_foreign = rewritten != stored_status;
        Ok(Self {
            metadata: raw.metadata.into(),
            spec: StoredSpec(raw.spec.as_deref().map_or("null", RawValue::get).into()),
            status,
            status_is_foreign,
        })
    }
}

as_resource!(StoredPipeline, StreamingPipeline);

#[cfg(test)]
mod tests {
    use kube::api::{ObjectList, WatchEvent};

    use super::*;

    const GOOD: &str = r#"{"metadata":{"name":"good","namespace":"ns","uid":"u","labels":{"a":"b"}},"spec":{
        "service_name":"s","pipeline_module":"m","image_name":"i:1","cpu_per_process":1,"memory_per_process":1,
        "deployment_template":{},"container_template":{},"pipeline_config":{}}}"#;

    /// A pipeline with 300 levels in its spec and in its managed fields, as the API server stores it.
    fn deep() -> String {
        let nested = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
        format!(
            r#"{{"metadata":{{"name":"deep","managedFields":[{{"fieldsV1":{nested}}}]}},"spec":{{"pipeline_config":{nested}}}}}"#
        )
    }

    #[test]
    fn a_pipeline_that_is_nested_too_deep_disturbs_no_other_of_the_list() {
        let list = format!(
            r#"{{"apiVersion":"v1","kind":"List","metadata":{{}},"items":[{},{GOOD}]}}"#,
            deep()
        );
        let list: ObjectList<StoredPipeline> = serde_json::from_str(&list).expect("a list");
        let [deep, good] = list.items.as_slice() else {
            panic!("two items");
        };
        assert_eq!(deep.metadata.name.as_deref(), Some("deep"));
        let fault = deep.spec.read().expect_err("no reader goes that deep");
        assert_eq!(fault.path, "spec");
        assert!(
            fault
                .message
                .starts_with("cannot be read as JSON: recursion limit exceeded"),
            "{}",
            fault.message
        );
        assert_eq!(good.metadata.uid.as_deref(), Some("u"));
        assert_eq!(good.spec.read().map(|spec| spec.service_name), Ok("s".to_owned()));
    }

    #[test]
    fn a_pipeline_that_is_nested_too_deep_does_not_end_a_watch() {
        let event = format!(r#"{{"type":"ADDED","object":{}}}"#, deep());
        let event: WatchEvent<StoredPipeline> = serde_json::from_str(&event).expect("an event");
        assert!(matches!(event, WatchEvent::Added(pipeline) if pipeline.spec.read().is_err()));
    }
}
