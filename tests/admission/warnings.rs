//! What is admitted and said all the same, as kubectl shows it.

use serde_json::{Value, json};
use testkit::fixtures;

use crate::bed::Bed;
use crate::ways::{Sender, Way};

/// Applies `edit` over a stored pipeline with `stored`, or as a new one, and gives what is said.
async fn said(bed: &Bed, stored: Option<&Value>, edit: &Value) -> Vec<String> {
    let sender = Sender::new(bed.cluster).await;
    if let Some(stored) = stored {
        sender.store(&fixtures::edited("checkout", stored)).await;
    }
    let object = fixtures::edited("checkout", edit);
    let sent = sender
        .send(Way::ApplyServerSide, &object.to_string(), &object, &object)
        .await;
    sent.unwrap_or_else(|refusal| panic!("{edit}: {}", refusal.text))
}

fn pod(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

#[tokio::test]
async fn each_warning_is_shown_in_its_words() {
    let bed = Bed::start().await;
    let grace = |seconds: i64| pod(&json!({"terminationGracePeriodSeconds": seconds}));
    for (edit, line) in [
        (
            json!({"pipeline_config": {"pipeline": {"adapter_config": null}}}),
            "spec.pipeline_config.pipeline.adapter_config.arroyo.write_healthcheck: not true: liveness kills it every 310 s",
        ),
        (
            json!({"with_canary": true}),
            "spec.with_canary: has no effect with fewer than 2 replicas",
        ),
        (
            json!({"image_name": "registry.example:5000/app"}),
            "spec.image_name: has no tag, or latest: which version runs depends on when a node pulled it",
        ),
        (
            json!({"image_name": "registry.example/app:latest"}),
            "spec.image_name: has no tag, or latest: which version runs depends on when a node pulled it",
        ),
        (
            json!({"emergency_patch": {"metadata": {"annotations": {"why": "incident"}}}}),
            "spec.emergency_patch: is in force: it overrides what is rendered until it is removed",
        ),
        (
            json!({"deployment_template": grace(29)}),
            "spec.deployment_template.spec.template.spec.terminationGracePeriodSeconds: is 29: under 30 a consumer may not \
             commit",
        ),
        (
            json!({"deployment_template": grace(301), "replicas": 2, "rollout": {"podReplacementPolicy": "Failed"}}),
            "spec.deployment_template.spec.template.spec.terminationGracePeriodSeconds: is 301: a Pod's place stays empty \
             that long",
        ),
        (
            json!({"rollout": {"podReplacementPolicy": "Failed"}}),
            "spec.rollout.podReplacementPolicy: with 1 replica, no consumer runs until the new Pod is available",
        ),
        (
            json!({"container_template": {"newField": 1}}),
            "spec.container_template.newField: is unknown to this release: passed on",
        ),
    ] {
        assert_eq!(said(&bed, None, &edit).await, [line], "{edit}");
    }
    for silent in [
        json!({"enable_liveness_probe": false, "pipeline_config": {"pipeline": {"adapter_config": null}}}),
        json!({"with_canary": true, "replicas": 2}),
        json!({"image_name": "registry.example:5000/app@sha256:0"}),
        json!({"deployment_template": grace(301)}),
        json!({"replicas": 0}),
        json!({"suspend": true}),
    ] {
        assert_eq!(said(&bed, None, &silent).await, Vec::<String>::new(), "{silent}");
    }
}

#[tokio::test]
async fn an_edit_is_warned_of_for_what_it_does() {
    let bed = Bed::start().await;
    let three = json!({"replicas": 3});
    for (edit, line) in [
        (
            json!({"replicas": 0}),
            "spec.replicas: goes from 3 to 0: every consumer stops",
        ),
        (
            json!({"replicas": 3, "suspend": true}),
            "spec.suspend: every consumer stops until it is false again",
        ),
        (
            json!({"replicas": 3, "image_name": "registry.example/app:2", "pipeline_config": {"env": {"A": "1"}}}),
            "spec.image_name: changes together with pipeline_config: if it goes wrong, either may be the cause",
        ),
    ] {
        assert_eq!(said(&bed, Some(&three), &edit).await, [line], "{edit}");
    }
    for silent in [
        json!({"replicas": 2}),
        json!({"replicas": 3, "image_name": "registry.example/app:2"}),
        json!({"replicas": 3, "pipeline_config": {"env": {"A": "1"}}}),
    ] {
        assert_eq!(
            said(&bed, Some(&three), &silent).await,
            Vec::<String>::new(),
            "{silent}"
        );
    }
}

#[tokio::test]
async fn each_field_without_effect_is_named() {
    let bed = Bed::start().await;
    let first = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "other"},
        "spec": {"replicas": 2, "selector": {}, "strategy": {"type": "Recreate"}},
    });
    let second = json!({
        "spec": {
            "minReadySeconds": 5, "progressDeadlineSeconds": 5, "revisionHistoryLimit": 5, "paused": true,
            "template": {"spec": {"restartPolicy": "Always"}},
        },
    });
    for (template, fields) in [
        (
            first,
            [
                "apiVersion",
                "kind",
                "metadata.namespace",
                "spec.replicas",
                "spec.selector",
                "spec.strategy",
            ]
            .as_slice(),
        ),
        (
            second,
            &[
                "spec.minReadySeconds",
                "spec.progressDeadlineSeconds",
                "spec.revisionHistoryLimit",
                "spec.paused",
                "spec.template.spec.restartPolicy",
            ],
        ),
    ] {
        let lines = |at: &str| -> Vec<String> {
            let line = |field| format!("spec.{at}.{field}: has no effect: the operator manages Pods, not a Deployment");
            fields.iter().map(line).collect()
        };
        let in_template = said(&bed, None, &json!({"deployment_template": template})).await;
        assert_eq!(in_template, lines("deployment_template"));
        let in_patch = said(&bed, None, &json!({"emergency_patch": template})).await;
        assert_eq!(in_patch[1..], lines("emergency_patch"));
    }
}

#[tokio::test]
async fn at_most_ten_warnings_are_shown_each_a_line_of_less_than_120_characters() {
    let bed = Bed::start().await;
    let fields = (0..12).map(|field| (format!("{}{field}", "x".repeat(130)), json!("a\nb")));
    let template: serde_json::Map<String, Value> = fields.collect();
    let edit = json!({"image_name": "app", "container_template": template});
    let lines = said(&bed, None, &edit).await;
    assert_eq!(lines.len(), 10, "{lines:#?}");
    assert_eq!(lines[9], "spec: and 4 more warnings");
    for line in &lines {
        assert!(line.chars().count() < 120, "{line}");
    }
}
