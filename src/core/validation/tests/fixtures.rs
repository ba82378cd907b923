//! For each rule of the table an object that it refuses.

use serde_json::{Value, json};

use super::{FaultKind, edited, with, without};

/// For each rule an object that it alone refuses, and where.
#[allow(clippy::too_many_lines, reason = "a table: one entry a rule")]
pub(super) fn fixtures() -> Vec<(&'static str, Value, &'static str, FaultKind)> {
    let container = "deployment_template/spec/template/spec/containers";
    let step = "pipeline_config/pipeline/segments/0/steps_config";
    let two = json!([
        {"steps_config": {"a": {"parallelism": {"multi_process": {"processes": 2}}}}},
        {"steps_config": {"b": {"parallelism": {"multi_process": {"processes": 2}}}}},
    ]);
    vec![
        (
            "field-types",
            with("replicas", json!("3")),
            "spec.replicas",
            FaultKind::TypeInvalid,
        ),
        (
            "field-types",
            with("log_level", json!("TRACE")),
            "spec.log_level",
            FaultKind::NotSupported,
        ),
        (
            "field-types",
            with("rollout/minReadySeconds", json!("1s")),
            "spec.rollout.minReadySeconds",
            FaultKind::TypeInvalid,
        ),
        (
            "required-fields",
            without("image_name"),
            "spec.image_name",
            FaultKind::Required,
        ),
        (
            "field-lengths",
            with("image_name", json!("")),
            "spec.image_name",
            FaultKind::Invalid,
        ),
        (
            "field-lengths",
            with("pipeline_module", json!("m".repeat(254))),
            "spec.pipeline_module",
            FaultKind::TooLong,
        ),
        (
            "field-ranges",
            with("replicas", json!(1000)),
            "spec.replicas",
            FaultKind::Invalid,
        ),
        (
            "rollout",
            with("rollout/maxUnavailable", json!("0%")),
            "spec.rollout.maxUnavailable",
            FaultKind::Invalid,
        ),
        (
            "rollout",
            with("rollout/restartAt", json!("soon")),
            "spec.rollout.restartAt",
            FaultKind::Invalid,
        ),
        (
            "pipeline-config",
            with(step, json!({"a": {"dlq": {"topic": "t"}}})),
            "spec.pipeline_config.pipeline.segments[0].steps_config.a.dlq.bootstrap_servers",
            FaultKind::Required,
        ),
        (
            "pipeline-config",
            with("pipeline_config", json!({})),
            "spec.pipeline_config.pipeline",
            FaultKind::Required,
        ),
        (
            "segment-id",
            with("segment_id", json!(1)),
            "spec.segment_id",
            FaultKind::Invalid,
        ),
        (
            "multi-process",
            with("pipeline_config/pipeline/segments", two),
            "spec.pipeline_config.pipeline.segments[1]",
            FaultKind::Invalid,
        ),
        (
            "liveness-probe",
            with("container_template/livenessProbe", json!({"periodSeconds": 5})),
            "spec.container_template.livenessProbe",
            FaultKind::Forbidden,
        ),
        (
            "template-merge",
            with("container_template/resources/requests/cpu", json!(2)),
            "spec.container_template.resources.requests.cpu",
            FaultKind::TypeInvalid,
        ),
        (
            "template-merge",
            with("deployment_template/metadata/name", json!("other")),
            "spec.deployment_template.metadata.name",
            FaultKind::Forbidden,
        ),
        (
            "emergency-patch-name",
            with("emergency_patch/metadata/name", json!("other")),
            "spec.emergency_patch.metadata.name",
            FaultKind::Forbidden,
        ),
        (
            "rendered-names",
            with("pipeline_name", json!("p".repeat(40))),
            "spec.pipeline_name",
            FaultKind::TooLong,
        ),
        (
            "rendered-names",
            with("service_name", json!("___")),
            "spec.service_name",
            FaultKind::Invalid,
        ),
        (
            "rendered-labels",
            with(
                "deployment_template/spec/template/metadata/labels",
                json!({"team": "a b"}),
            ),
            "spec.deployment_template.spec.template.metadata.labels.team",
            FaultKind::Invalid,
        ),
        (
            "container-names",
            with("container_name", json!("A_b")),
            "spec.container_name",
            FaultKind::Invalid,
        ),
        (
            "duplicates",
            with(container, json!([{"name": "pipeline-consumer"}])),
            "spec.deployment_template.spec.template.spec.containers[0].name",
            FaultKind::Duplicate,
        ),
        (
            "duplicates",
            with(
                "container_template/volumeMounts",
                json!([{"name": "x", "mountPath": "/tmp"}]),
            ),
            "spec.container_template.volumeMounts[0].mountPath",
            FaultKind::Duplicate,
        ),
        (
            "quantities",
            with("container_template/resources/limits/cpu", json!("-1")),
            "spec.container_template.resources.limits.cpu",
            FaultKind::Invalid,
        ),
        (
            "quantities",
            with("cpu_per_process", json!(i64::MAX))
                .pointer("/spec")
                .map(|spec| json!({"metadata": {"name": "n"}, "spec": spec}))
                .map(|object| {
                    edited(
                        object,
                        step,
                        json!({"a": {"parallelism": {"multi_process": {"processes": 2}}}}),
                    )
                })
                .expect("a spec"),
            "spec.cpu_per_process",
            FaultKind::Invalid,
        ),
        (
            "pod-types",
            with("container_template/env", json!([{"name": "PORT", "value": 80}])),
            "spec.container_template.env[0].value",
            FaultKind::TypeInvalid,
        ),
        (
            "nesting",
            with("pipeline_config/x", (0..64).fold(json!(1), |inner, _| json!([inner]))),
            "spec.pipeline_config",
            FaultKind::Invalid,
        ),
        (
            "config-size",
            with("pipeline_config/env", json!({"A": "x".repeat(512 * 1024)})),
            "spec.pipeline_config",
            FaultKind::TooLong,
        ),
        (
            "spec-size",
            with(
                "deployment_template/metadata/annotations",
                json!({"a": "x".repeat(700 * 1024)}),
            ),
            "spec",
            FaultKind::TooLong,
        ),
    ]
}
