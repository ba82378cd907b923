//! Warnings are given for what they are about, few and short.

use serde_json::{Value, json};

use super::super::tests::{edited, with};
use super::super::validate;

fn warnings(object: &Value, old: Option<&Value>) -> Vec<(&'static str, String)> {
    let warnings = validate(object, old).warnings.into_iter();
    warnings.map(|warning| (warning.rule, warning.path)).collect()
}

#[test]
fn each_warning_is_given_for_what_it_is_about() {
    let arroyo = "pipeline_config/pipeline/adapter_config/arroyo/write_healthcheck";
    let failed = with("rollout/podReplacementPolicy", json!("Failed"));
    let grace = "deployment_template/spec/template/spec/terminationGracePeriodSeconds";
    let grace_path = "spec.deployment_template.spec.template.spec.terminationGracePeriodSeconds";
    for (object, rule, path) in [
        (
            with(arroyo, json!(false)),
            "liveness-without-health",
            "spec.pipeline_config.pipeline.adapter_config.arroyo.write_healthcheck",
        ),
        (
            with("with_canary", json!(true)),
            "canary-without-replicas",
            "spec.with_canary",
        ),
        (
            with("image_name", json!("registry:5000/app")),
            "image-tag",
            "spec.image_name",
        ),
        (with("image_name", json!("app:latest")), "image-tag", "spec.image_name"),
        (
            with("emergency_patch/spec", json!({})),
            "emergency-patch",
            "spec.emergency_patch",
        ),
        (
            failed.clone(),
            "single-replica-failed",
            "spec.rollout.podReplacementPolicy",
        ),
        (with(grace, json!(5)), "grace-period", grace_path),
        (
            edited(edited(failed, grace, json!(301)), "replicas", json!(2)),
            "grace-period",
            grace_path,
        ),
        (
            with("deployment_template/spec/strategy", json!({"type": "Recreate"})),
            "no-effect",
            "spec.deployment_template.spec.strategy",
        ),
        (
            with("deployment_template/spec/template/annotations", json!({"a": "b"})),
            "unknown-field",
            "spec.deployment_template.spec.template.annotations",
        ),
        (
            with("deployment_template/sepc", json!({})),
            "unknown-field",
            "spec.deployment_template.sepc",
        ),
        (
            with("deployment_template/spec/template/metadata/finalizers", json!(["x/y"])),
            "no-effect",
            "spec.deployment_template.spec.template.metadata.finalizers",
        ),
        (
            with("deployment_template/metadata/annotations", json!({"a": "b"})),
            "no-effect",
            "spec.deployment_template.metadata.annotations",
        ),
        (
            with("container_template/newField", json!(1)),
            "unknown-field",
            "spec.container_template.newField",
        ),
    ] {
        assert_eq!(warnings(&object, None), [(rule, path.to_owned())]);
    }
    assert_eq!(warnings(&with("image_name", json!("app@sha256:0")), None), []);
}

fn lines(object: &Value) -> Vec<String> {
    let warnings = validate(object, None).warnings;
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn metadata_that_reaches_no_pod_is_told_field_by_field() {
    let metadata = json!({
        "zz": 1, "finalizers": ["x/y"], "name": "n", "deletionGracePeriodSeconds": 1, "creationTimestamp": null,
        "labels": {"team": "a"}, "annotations": {"a": "b"},
    });
    let object = with("deployment_template/spec/template/metadata", metadata);
    let object = edited(
        object,
        "deployment_template/metadata",
        json!({"zz": 1, "annotations": {"a": "b"}, "labels": {"team": "a"}, "creationTimestamp": null}),
    );
    let pod = "spec.deployment_template.spec.template.metadata";
    assert_eq!(
        lines(&object),
        [
            "spec.deployment_template.metadata.zz: reaches no Pod: no Deployment is made".to_owned(),
            "spec.deployment_template.metadata.annotations: reaches no Pod: no Deployment is made".to_owned(),
            format!("{pod}.zz: reaches no Pod; labels and annotations do"),
            format!("{pod}.finalizers: reaches no Pod; labels and annotations do"),
            format!("{pod}.name: reaches no Pod; labels and annotations do"),
            format!("{pod}.deletionGracePeriodSeconds: reaches no Pod; labels and annotations do"),
        ]
    );
    let patched = with(
        "emergency_patch/metadata",
        json!({"annotations": {"why": "incident"}, "uid": "u"}),
    );
    assert_eq!(
        lines(&patched),
        [
            "spec.emergency_patch: is in force: it overrides what is rendered until it is removed",
            "spec.emergency_patch.metadata.uid: reaches no Pod: no Deployment is made",
        ]
    );
}

#[test]
fn an_unknown_field_far_down_is_told_to_the_end_of_the_sentence() {
    let patch =
        json!([{"name": "pipeline-consumer", "livenessProbe": {"httpGet": {"pth": "/", "port": 1}}, "newField": 1}]);
    assert_eq!(
        lines(&with("emergency_patch/spec/template/spec/containers", patch)),
        [
            "spec.emergency_patch: is in force: it overrides what is rendered until it is removed",
            "spec.emergency_patch.spec.template.spec.containers[0].livenessProbe.httpGet.pth: is unknown to this release: \
             passed on",
            "spec.emergency_patch.spec.template.spec.containers[0].newField: is unknown to this release: passed on",
        ]
    );
    let volumes = json!([{"name": "a", "newKind": {}}, {"name": "b", "newKind": {}}]);
    assert_eq!(
        lines(&with("emergency_patch/spec/template/spec/volumes", volumes)),
        [
            "spec.emergency_patch: is in force: it overrides what is rendered until it is removed",
            "spec.emergency_patch.spec.template.spec.volumes[0].newKind: is unknown to this release: passed on",
            "spec.emergency_patch.spec.template.spec.volumes[1].newKind: is unknown to this release: passed on",
        ]
    );
}

#[test]
fn an_edit_is_warned_of_for_what_it_does() {
    let old = with("replicas", json!(3));
    let both = edited(
        edited(old.clone(), "image_name", json!("app:2")),
        "pipeline_config/env",
        json!({"A": "1"}),
    );
    for (new, rule, path) in [
        (with("replicas", json!(0)), "scale-to-zero", "spec.replicas"),
        (edited(old.clone(), "suspend", json!(true)), "suspend", "spec.suspend"),
        (both, "image-and-config", "spec.image_name"),
    ] {
        assert_eq!(warnings(&new, Some(&old)), [(rule, path.to_owned())]);
    }
}

#[test]
fn warnings_are_at_most_ten_lines_of_less_than_120_characters() {
    let mut object = with("image_name", json!("app"));
    for field in 0..12 {
        object = edited(
            object,
            &format!("container_template/{}{field}", "x".repeat(130)),
            json!("a\nb"),
        );
    }
    let verdict = validate(&object, None);
    assert_eq!(verdict.warnings.len(), 10);
    for warning in &verdict.warnings {
        let line = warning.to_string();
        assert!(line.chars().count() < 120 && !line.contains('\n'), "{line}");
    }
    assert!(verdict.warnings[9].message.starts_with("and 4 more warnings"));
}
