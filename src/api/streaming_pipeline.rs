//! The kind `StreamingPipeline`: one segment of a Sentry Streams pipeline as a set of consumer Pods.
//!
//! The `snake_case` fields are those of the Python operator, with its defaults and requiredness, so
//! that existing manifests apply unchanged; new fields are camelCase.

#![allow(
    unreachable_pub,
    reason = "the KubeSchema derive repeats the type inside a private block"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "each printer column has a type; the lint takes them for repetitions"
)]

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rollout::Rollout;
use super::status::StreamingPipelineStatus;

/// A JSON object whose fields are the user's, not ours (`x-kubernetes-preserve-unknown-fields`).
pub type OpenObject = Map<String, Value>;

/// What is said of a changed `service_name`, by the CRD and by the shared validation.
pub const SERVICE_NAME_IMMUTABLE: &str =
    "service_name is immutable: it names every Pod and ConfigMap; delete the pipeline and create it under the new name";
/// What is said of a changed `pipeline_name`; likewise.
pub const PIPELINE_NAME_IMMUTABLE: &str = "pipeline_name is immutable: it names every Pod and ConfigMap; delete the pipeline and create it under the new name";
/// What is said of a changed `segment_id`; likewise.
pub const SEGMENT_ID_IMMUTABLE: &str =
    "segment_id is immutable: it names every Pod and ConfigMap; create another pipeline for another segment";

/// What a StreamingPipeline asks for: one segment of a pipeline, run by `replicas` consumer Pods.
#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "streams.sentry.io",
    version = "v1alpha1",
    kind = "StreamingPipeline",
    plural = "streamingpipelines",
    singular = "streamingpipeline",
    shortname = "spipe",
    category = "streams",
    namespaced,
    status = "StreamingPipelineStatus",
    doc = "StreamingPipeline runs one segment of a Sentry Streams pipeline as Kafka consumer Pods that the operator creates, heals and updates itself.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.totalReplicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Desired",
        type_ = "integer",
        json_path = ".spec.replicas",
        description = "Consumer Pods asked for"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Consumer Pods that are Ready"
    ),
    printcolumn(
        name = "Updated",
        type_ = "integer",
        json_path = ".status.updatedReplicas",
        description = "Consumer Pods of the spec's revision"
    ),
    printcolumn(
        name = "Canary",
        type_ = "integer",
        json_path = ".status.replicas.canary",
        description = "Consumer Pods of the canary set"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.rollout.phase",
        description = "Where the rollout stands"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the pipeline is Ready or not"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image_name", priority = 1),
    printcolumn(name = "Segment", type_ = "integer", json_path = ".spec.segment_id", priority = 1),
    printcolumn(
        name = "Config-Version",
        type_ = "string",
        json_path = ".status.config_version",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new("!has(oldSelf.pipeline_name) || (has(self.pipeline_name) && self.pipeline_name == oldSelf.pipeline_name)").message(PIPELINE_NAME_IMMUTABLE).field_path(".pipeline_name").reason(Reason::FieldValueForbidden))]
pub struct StreamingPipelineSpec {
    /// Name of the service the pipeline belongs to; the first part of every Pod's and ConfigMap's name. At most 253
    /// characters. Immutable.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self == oldSelf").message(SERVICE_NAME_IMMUTABLE).reason(Reason::FieldValueForbidden))]
    pub service_name: String,

    /// Name of the pipeline, given to the consumer with -n and part of every Pod's and ConfigMap's name. At most 253
    /// characters. Defaults to the name of this object. Immutable once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 253))]
    pub pipeline_name: Option<String>,

    /// Python module (or path of the file) that defines the pipeline; the last argument of the consumer.
    #[schemars(length(min = 1, max = 253))]
    pub pipeline_module: String,

    /// Image of the consumer container, with a tag or a digest: without, which version runs depends on when a node
    /// pulled it.
    #[schemars(length(min = 1))]
    pub image_name: String,

    /// CPU request of one consumer process, in millicores, at least 1. Multiplied by the number of processes of a
    /// multi-process step.
    #[schemars(range(min = 1))]
    pub cpu_per_process: i64,

    /// Memory request and limit of one consumer process, in MiB, at least 1. Multiplied by the number of processes of a
    /// multi-process step.
    #[schemars(range(min = 1))]
    pub memory_per_process: i64,

    /// Parts of a Deployment that are merged into what the operator renders: labels, annotations and the Pod template
    /// (spec.template) of every consumer Pod. Fields that the operator sets itself cannot be changed here, and those of
    /// a Deployment that Pods do not have, such as spec.strategy, have no effect. May be {}.
    #[schemars(schema_with = "open_object")]
    pub deployment_template: OpenObject,

    /// Parts of a container that are merged into the consumer container: env, resources, securityContext, ports,
    /// volumeMounts and the like. May be {}.
    #[schemars(schema_with = "open_object")]
    pub container_template: OpenObject,

    /// Configuration of the pipeline, in the format of sentry-streams (its JSON schema config.json). Mounted into each
    /// consumer from a ConfigMap.
    #[schemars(schema_with = "open_object")]
    pub pipeline_config: OpenObject,

    /// Number of consumer Pods, the canary included: 0 to 999. 0 stops the pipeline. Defaults to 1.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 0, max = 999))]
    pub replicas: i64,

    /// Runs one of the replicas as a canary, which gets a new revision before all others. Has no effect with fewer
    /// than 2 replicas. Defaults to false.
    #[serde(default)]
    pub with_canary: bool,

    /// Index of the segment of the pipeline that the Pods run, counted from 0. Immutable. Defaults to 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    #[x_kube(validation = Rule::new("self == oldSelf").message(SEGMENT_ID_IMMUTABLE).reason(Reason::FieldValueForbidden))]
    pub segment_id: i64,

    /// Log level of the consumer. Defaults to INFO.
    #[serde(default)]
    pub log_level: LogLevel,

    /// Adds a liveness probe to the consumer that removes /tmp/health.txt. Needs
    /// pipeline_config.pipeline.adapter_config.arroyo.write_healthcheck to be true, else the consumer is killed about
    /// every 310 seconds. Defaults to true.
    #[serde(default = "default_true")]
    pub enable_liveness_probe: bool,

    /// Name of the consumer container, a DNS label. Defaults to pipeline-consumer.
    #[serde(default = "default_container_name")]
    #[schemars(length(min = 1, max = 63))]
    pub container_name: String,

    /// Parts of a Deployment that are merged last, over everything the operator renders: for emergencies. Lists of
    /// containers, volumes, mounts and ports are merged by their keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_object")]
    pub emergency_patch: Option<OpenObject>,

    /// How a change of the spec reaches the Pods, and what happens when the change does not work.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub rollout: Rollout,

    /// Stops all Pods and keeps everything else, replicas included, until it is false again. Defaults to false.
    #[serde(default)]
    pub suspend: bool,

    /// How many earlier revisions are kept for an undo, besides the current and the updated one: 0 to 100. Defaults to
    /// 10.
    #[serde(rename = "revisionHistoryLimit", default = "default_revision_history_limit")]
    #[schemars(range(min = 0, max = 100))]
    pub revision_history_limit: i32,
}

/// Log level of the consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// What happens in the ordinary course.
    #[default]
    Info,
    /// What may need a person.
    Warning,
    /// What does need a person.
    Error,
}

impl LogLevel {
    /// As the consumer's `--log-level` takes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// Default of `spec.replicas`.
pub(crate) const fn default_replicas() -> i64 {
    1
}

const fn default_true() -> bool {
    true
}

/// Default of `spec.container_name`.
pub(crate) fn default_container_name() -> String {
    "pipeline-consumer".to_owned()
}

const fn default_revision_history_limit() -> i32 {
    10
}

fn open_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
