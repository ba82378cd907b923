//! Every rule refuses something, and old faults are no faults.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::core::violation::FaultKind;

/// A pipeline without a fault or a warning.
fn pipeline() -> Value {
    json!({
        "metadata": {"name": "checkout", "namespace": "ns"},
        "spec": {
            "service_name": "svc", "pipeline_name": "pipe", "pipeline_module": "pkg.mod",
            "image_name": "registry.example/app:1", "cpu_per_process": 100, "memory_per_process": 256,
            "deployment_template": {}, "container_template": {},
            "pipeline_config": {"pipeline": {
                "segments": [{"steps_config": {}}],
                "adapter_config": {"arroyo": {"write_healthcheck": true}},
            }},
        },
    })
}

/// [`pipeline`] with the value at a JSON pointer below `spec` set.
pub(super) fn with(pointer: &str, value: Value) -> Value {
    edited(pipeline(), pointer, value)
}

pub(super) fn edited(mut object: Value, pointer: &str, value: Value) -> Value {
    let mut slot = object.get_mut("spec").expect("a spec");
    for key in pointer.split('/') {
        slot = match slot {
            Value::Array(elements) => &mut elements[key.parse::<usize>().expect("an index")],
            Value::Object(fields) => fields.entry(key).or_insert_with(|| json!({})),
            _ => panic!("{pointer} leads through a scalar"),
        };
    }
    *slot = value;
    object
}

/// [`pipeline`] without a field of `spec`.
fn without(field: &str) -> Value {
    let mut object = pipeline();
    object["spec"].as_object_mut().expect("a spec").remove(field);
    object
}

fn faults(object: &Value) -> Vec<(&'static str, String, FaultKind)> {
    let violations = validate(object, None).violations.into_iter();
    violations.map(|fault| (fault.rule, fault.path, fault.kind)).collect()
}

#[test]
fn a_pipeline_without_faults_has_none() {
    assert_eq!(validate(&pipeline(), None), Verdict::default());
}

/// For each rule an object that it alone refuses, and where.
#[allow(clippy::too_many_lines, reason = "a table: one entry a rule")]
fn fixtures() -> Vec<(&'static str, Value, &'static str, FaultKind)> {
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

#[test]
fn every_rule_has_an_object_that_it_alone_refuses() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (rule, object, path, kind) in fixtures() {
        assert_eq!(faults(&object), [(rule, path.to_owned(), kind)]);
        seen.insert(rule);
    }
    // Needs an old object, and has a test of its own.
    seen.insert("immutable-fields");
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(seen, all);
}

#[test]
fn a_message_names_the_value_or_what_it_must_be_and_ends_without_a_full_stop() {
    for (rule, object, ..) in fixtures() {
        for fault in validate(&object, None).violations {
            assert!(
                fault.message.len() > 8 && !fault.message.ends_with('.'),
                "{rule}: {fault}"
            );
        }
    }
}

#[test]
fn all_faults_are_told_at_once_also_beside_a_field_that_cannot_be_read() {
    let object = edited(with("replicas", json!("3")), "pipeline_config", json!([]));
    let object = edited(
        object,
        "rollout",
        json!({"paused": 1, "onFailure": "Never", "minReadySeconds": -1}),
    );
    let object = edited(object, "service_name", json!("___"));
    let object = edited(object, "container_template/livenessProbe", json!({"periodSeconds": 5}));
    let paths: Vec<_> = faults(&object)
        .into_iter()
        .map(|(rule, path, _)| format!("{rule} {path}"))
        .collect();
    assert_eq!(
        paths,
        [
            "field-types spec.pipeline_config",
            "field-types spec.replicas",
            "field-types spec.rollout.paused",
            "field-types spec.rollout.onFailure",
            "field-ranges spec.rollout.minReadySeconds",
            "liveness-probe spec.container_template.livenessProbe",
            "rendered-names spec.service_name",
        ]
    );
}

#[test]
fn a_spec_that_is_missing_lacks_every_required_field() {
    let paths: Vec<_> = faults(&json!({"metadata": {"name": "n"}}))
        .into_iter()
        .map(|(_, path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "spec.service_name",
            "spec.pipeline_name",
            "spec.pipeline_module",
            "spec.image_name",
            "spec.cpu_per_process",
            "spec.memory_per_process",
            "spec.deployment_template",
            "spec.container_template",
            "spec.pipeline_config",
        ]
    );
    for object in [json!(null), json!([]), json!({"spec": 1})] {
        assert!(!faults(&object).is_empty());
    }
}

#[test]
fn the_name_of_the_object_names_the_pipeline_unless_it_is_generated() {
    assert_eq!(faults(&without("pipeline_name")), []);
    let mut object = without("pipeline_name");
    object["metadata"] = json!({"generateName": "checkout-"});
    assert_eq!(
        faults(&object),
        [("required-fields", "spec.pipeline_name".to_owned(), FaultKind::Required)]
    );
}

#[test]
fn a_canary_that_is_not_wanted_is_at_no_fault() {
    let label = "deployment_template/spec/template/metadata/labels";
    let labelled = with(label, json!({"env": "primary"}));
    assert_eq!(faults(&labelled), []);
    assert_eq!(
        faults(&edited(labelled, "with_canary", json!(true))),
        [(
            "template-merge",
            "spec.deployment_template.spec.template.metadata.labels.env".to_owned(),
            FaultKind::Forbidden
        )]
    );
    // svc-pipeline-…-0 of 54 characters; -canary makes it 61.
    let long = with("pipeline_name", json!("p".repeat(39)));
    assert_eq!(faults(&long), []);
    assert_eq!(
        faults(&edited(long, "with_canary", json!(true))),
        [("rendered-names", "spec.pipeline_name".to_owned(), FaultKind::TooLong)]
    );
}

#[test]
fn what_names_the_pods_may_not_change() {
    let old = pipeline();
    let new = edited(
        edited(pipeline(), "service_name", json!("b")),
        "pipeline_name",
        json!("q"),
    );
    let violations = validate(&new, Some(&old)).violations;
    let found: Vec<_> = violations
        .iter()
        .map(|fault| (fault.rule, fault.path.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("immutable-fields", "spec.service_name"),
            ("immutable-fields", "spec.pipeline_name")
        ]
    );
}

#[test]
fn a_fault_of_the_old_object_is_a_warning() {
    // But for the size of the whole spec: every edit makes that another one.
    for (rule, object, path, _) in fixtures().into_iter().filter(|(rule, ..)| *rule != "spec-size") {
        let new = edited(object.clone(), "rollout/paused", json!(true));
        let verdict = validate(&new, Some(&object));
        assert_eq!(verdict.violations, [], "{rule}");
        let old = verdict.warnings.iter().find(|warning| warning.rule == rule);
        assert_eq!(old.map(|warning| warning.path.as_str()), Some(path));
    }
}

#[test]
fn a_fault_is_new_when_the_value_there_is_another() {
    let old = with("replicas", json!(1000));
    assert_eq!(validate(&with("replicas", json!(1001)), Some(&old)).violations.len(), 1);
    let old = with("image_name", json!(""));
    assert_eq!(validate(&with("replicas", json!(1000)), Some(&old)).violations.len(), 1);
}

#[test]
fn a_rendered_fault_is_new_when_its_text_is_another() {
    let old = with("pipeline_name", json!("p".repeat(40)));
    let renamed = edited(old.clone(), "with_canary", json!(true));
    assert_eq!(
        validate(&renamed, Some(&old)).violations.len(),
        1,
        "the canary's name is longer"
    );
}

#[test]
fn a_number_is_a_quantity_to_the_api_server() {
    let sidecar = json!([{"name": "sidecar", "image": "i:1", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]);
    let object = with("deployment_template/spec/template/spec/containers", sidecar);
    assert_eq!(validate(&object, None), Verdict::default());
}
