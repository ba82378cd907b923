//! The consumer container of a Pod, and the volumes that it mounts.
//!
//! Must never judge: what the container template says otherwise is noted as a conflict.

use serde_json::{Value, json};

use super::{CONFIG_VOLUME, Found, fields, text, texts};
use crate::api::StreamingPipelineSpec;
use crate::api::streaming_pipeline::OpenObject;
use crate::core::merge::{self, Lists};
use crate::core::multi_process::MultiProcess;
use crate::core::path::At;
use crate::core::render::CONFIG_KEY;

const CONFIG_DIRECTORY: &str = "/etc/pipeline-config";

/// The consumer container.
pub(super) fn container(
    spec: &StreamingPipelineSpec,
    pipeline_name: &str,
    processes: &MultiProcess,
    found: &mut Found,
) -> OpenObject {
    let at = At::Key(&At::Root, "spec");
    let at = At::Key(&at, "container_template");
    let mut container = fields([
        ("name", text("streaming-consumer")),
        ("imagePullPolicy", text("IfNotPresent")),
        ("resources", json!({"requests": {}, "limits": {}})),
        ("volumeMounts", json!([])),
    ]);
    let template = spec.container_template.clone();
    found.over_ours(|out| {
        merge::merge(&mut container, template, Lists::Append, &at, out);
    });
    let additions = container_additions(spec, pipeline_name, processes);
    found.in_template(|out| {
        merge::merge(&mut container, additions, Lists::Append, &at, out);
    });
    container
}

/// What the operator sets in the consumer container.
fn container_additions(spec: &StreamingPipelineSpec, pipeline_name: &str, processes: &MultiProcess) -> OpenObject {
    let factor = processes.processes.unwrap_or(1).max(1);
    // Saturates where validation refuses the product.
    let cpu = format!("{}m", spec.cpu_per_process.saturating_mul(factor));
    let memory = format!("{}Mi", spec.memory_per_process.saturating_mul(factor));
    let requests = fields([("cpu", text(cpu)), ("memory", text(memory.as_str()))]);
    let limits = fields([("memory", text(memory))]);
    let segment = spec.segment_id.to_string();
    let config = format!("{CONFIG_DIRECTORY}/{CONFIG_KEY}");
    let args = texts([
        "-n",
        pipeline_name,
        "--log-level",
        spec.log_level.as_str(),
        "--adapter",
        "rust_arroyo",
        "--segment-id",
        &segment,
        "--config",
        &config,
        &spec.pipeline_module,
    ]);
    let resources = fields([("requests", requests.into()), ("limits", limits.into())]);
    let mut additions = fields([
        ("name", text(spec.container_name.as_str())),
        ("image", text(spec.image_name.as_str())),
        ("command", texts(["python", "-m", "sentry_streams.runner"])),
        ("args", args),
        ("resources", resources.into()),
        ("volumeMounts", Value::Array(mounts(spec, processes))),
    ]);
    if spec.enable_liveness_probe {
        let probe =
            json!({"exec": {"command": ["rm", "/tmp/health.txt"]}, "failureThreshold": 31, "periodSeconds": 10});
        additions.insert("livenessProbe".to_owned(), probe);
    }
    additions
}

fn mounts(spec: &StreamingPipelineSpec, processes: &MultiProcess) -> Vec<Value> {
    let mut mounts = vec![json!({"name": CONFIG_VOLUME, "mountPath": CONFIG_DIRECTORY, "readOnly": true})];
    if is_multi_process(processes) {
        mounts.push(json!({"name": "dshm", "mountPath": "/dev/shm"}));
    }
    if needs_health_volume(spec, processes) {
        mounts.push(json!({"name": "liveness-health", "mountPath": "/tmp"}));
    }
    mounts
}

fn is_multi_process(processes: &MultiProcess) -> bool {
    processes.processes.is_some_and(|processes| processes > 1)
}

fn needs_health_volume(spec: &StreamingPipelineSpec, processes: &MultiProcess) -> bool {
    spec.enable_liveness_probe || is_multi_process(processes)
}

/// The volumes of the operator, the first with the config of the ConfigMap `config_name`.
pub(super) fn volumes(spec: &StreamingPipelineSpec, processes: &MultiProcess, config_name: &str) -> Vec<Value> {
    let mut volumes = vec![json!({"name": CONFIG_VOLUME, "configMap": {"name": config_name}})];
    if is_multi_process(processes) {
        volumes.push(json!({"name": "dshm", "emptyDir": {"medium": "Memory"}}));
    }
    if needs_health_volume(spec, processes) {
        volumes.push(json!({"name": "liveness-health", "emptyDir": {}}));
    }
    volumes
}
