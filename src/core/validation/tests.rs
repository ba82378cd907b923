//! All faults at once, and old faults are no faults. What each rule refuses: `tests/fixtures/rules`.

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
            "spec.pipeline_module",
            "spec.image_name",
            "spec.cpu_per_process",
            "spec.memory_per_process",
            "spec.deployment_template",
            "spec.container_template",
            "spec.pipeline_config",
        ]
    );
    let generated = faults(&json!({"metadata": {"generateName": "n-"}, "spec": null}));
    assert_eq!(generated[1].1, "spec.pipeline_name", "its name is not known");
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
fn what_is_of_a_wrong_type_is_told_in_whole_words() {
    let message = |pointer: &str, value: Value| {
        let verdict = validate(&with(pointer, value), None);
        let first = verdict.violations.into_iter().next().expect("a fault");
        first.message
    };
    for (pointer, value, expected) in [
        (
            "container_template/env",
            json!([{"name": "A", "value": 80}]),
            "is a number, must be a string",
        ),
        (
            "container_template/env",
            json!([{"name": "A", "value": 8.5}]),
            "is a number, must be a string",
        ),
        (
            "container_template/tty",
            json!("yes"),
            "is the string \"yes\", must be a boolean",
        ),
        ("container_template/stdin", json!(["x"]), "is a list, must be a boolean"),
        (
            "container_template/workingDir",
            json!(true),
            "is the boolean true, must be a string",
        ),
        (
            "container_template/workingDir",
            json!({"a": 1}),
            "is an object, must be a string",
        ),
        (
            "container_template/envFrom",
            json!({"a": 1}),
            "is an object, must be a list",
        ),
        (
            "rollout/paused",
            json!("maybe"),
            "is the string \"maybe\", must be a boolean",
        ),
        (
            "rollout/onFailure",
            json!("Never"),
            "is Never, must be Pause or Rollback",
        ),
    ] {
        assert_eq!(message(pointer, value), expected, "{pointer}");
    }
}

#[test]
fn what_may_hold_anything_may_be_nested_64_levels_deep() {
    let nested = |levels| {
        with(
            "pipeline_config/x",
            (1..levels).fold(json!(1), |inner, _| json!([inner])),
        )
    };
    assert_eq!(validate(&nested(64), None).violations, []);
    assert_eq!(
        validate(&nested(65), None).violations[0].message,
        "is nested 65 levels deep, at most 64 are allowed"
    );
}

#[test]
fn an_edit_of_an_object_with_many_old_faults_is_judged_in_time() {
    // Compared pair by pair these would take minutes.
    let containers = json!(vec![json!({"name": "a"}); 40_000]);
    let old = with("deployment_template/spec/template/spec/containers", containers);
    let verdict = validate(&edited(old.clone(), "replicas", json!(2)), Some(&old));
    assert_eq!(verdict.violations, []);
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
fn a_segment_that_was_never_there_is_an_old_fault_and_one_that_an_edit_takes_out_a_new_one() {
    let of = |id: i64, segments: usize| {
        let segments = vec![json!({"steps_config": {}}); segments];
        edited(
            with("segment_id", json!(id)),
            "pipeline_config/pipeline/segments",
            json!(segments),
        )
    };
    let verdict = validate(&of(3, 2), Some(&of(3, 1)));
    assert_eq!(verdict.violations, []);
    assert_eq!(
        verdict.warnings[0].to_string(),
        "spec.segment_id: (fault of the stored object) is 3, and pipeline_config has segments 0 to 1: the consumer would end at…"
    );
    let refused = |new: &Value, old: &Value| {
        let faults = validate(new, Some(old)).violations.into_iter();
        faults.map(|fault| fault.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        refused(&of(1, 1), &of(1, 2)),
        ["spec.segment_id: is 1, and pipeline_config has segments 0 to 0: the consumer would end at its start"]
    );
    // A stored config without segments says nothing of them.
    assert_eq!(
        refused(&of(1, 1), &of(1, 0)),
        ["spec.segment_id: is 1, and pipeline_config has segments 0 to 0: the consumer would end at its start"]
    );
}

#[test]
fn a_name_of_a_container_that_is_too_long_is_one_fault() {
    assert_eq!(
        faults(&with("container_name", json!("c".repeat(64)))),
        [("field-lengths", "spec.container_name".to_owned(), FaultKind::TooLong)]
    );
    let sidecar = json!([{"name": "c".repeat(64), "image": "i:1"}]);
    assert_eq!(
        faults(&with("deployment_template/spec/template/spec/containers", sidecar)),
        [(
            "container-names",
            "spec.deployment_template.spec.template.spec.containers[0].name".to_owned(),
            FaultKind::Invalid
        )]
    );
}

#[test]
fn a_number_is_a_quantity_to_the_api_server() {
    let sidecar = json!([{"name": "sidecar", "image": "i:1", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]);
    let object = with("deployment_template/spec/template/spec/containers", sidecar);
    assert_eq!(validate(&object, None), Verdict::default());
}
