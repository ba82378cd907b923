//! Reviews as an API server sends them.

use serde_json::{Value, json};

/// uid of every request.
pub(crate) const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

/// A pipeline with the fields that have no default, which validation finds nothing wrong with.
pub(crate) fn object(name: &str) -> Value {
    json!({
        "apiVersion": "streams.sentry.io/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": name, "namespace": "ingest", "uid": "4b1e29b6-0d8b-4f0e-8f4c-8d7d0f9f3d11",
                     "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1},
        "spec": {
            "service_name": "metrics",
            "pipeline_module": "sentry_streams/examples/simple_map_filter.py",
            "image_name": "registry.example/sentry-streams:0.0.69",
            "cpu_per_process": 500,
            "memory_per_process": 512,
            "deployment_template": {},
            "container_template": {},
            "pipeline_config": {
                "env": {},
                "pipeline": {
                    "adapter_config": {"arroyo": {"write_healthcheck": true}},
                    "segments": [{"steps_config": {
                        "myinput": {"starts_segment": true, "bootstrap_servers": ["kafka-0.kafka:9092"]},
                        "mysink": {"bootstrap_servers": ["kafka-0.kafka:9092"]}
                    }}]
                }
            }
        }
    })
}

/// [`object`] with every default written.
pub(crate) fn defaulted(name: &str) -> Value {
    let mut object = object(name);
    let Value::Object(defaults) = json!({
        "pipeline_name": name, "replicas": 1, "with_canary": false, "segment_id": 0, "log_level": "INFO",
        "enable_liveness_probe": true, "container_name": "pipeline-consumer", "suspend": false,
        "revisionHistoryLimit": 10,
        "rollout": {"paused": false, "maxUnavailable": "25%", "minReadySeconds": 0, "progressDeadlineSeconds": 600,
                    "podReplacementPolicy": "TerminatingOrFailed", "requireAnalysis": false, "onFailure": "Pause"}
    }) else {
        unreachable!("an object")
    };
    object["spec"].as_object_mut().expect("a spec").extend(defaults);
    object
}

/// A review of the creation of `object`.
pub(crate) fn create(object: &Value) -> Vec<u8> {
    create_with(object, false)
}

/// A review of the creation of `object`, perhaps as a dry run.
pub(crate) fn create_with(object: &Value, dry_run: bool) -> Vec<u8> {
    review("CREATE", object, &Value::Null, dry_run)
}

/// `review` as `user` would have caused it.
pub(crate) fn by(user: &str, review: &[u8]) -> Vec<u8> {
    let mut review: Value = serde_json::from_slice(review).expect("a review");
    review["request"]["userInfo"] = json!({"username": user, "groups": ["system:authenticated"]});
    review.to_string().into_bytes()
}

/// A review of the replacement of `old` by `new`.
pub(crate) fn update(new: &Value, old: &Value) -> Vec<u8> {
    review("UPDATE", new, old, false)
}

fn review(operation: &str, object: &Value, old: &Value, dry_run: bool) -> Vec<u8> {
    let kind = json!({"group": "streams.sentry.io", "version": "v1alpha1", "kind": "StreamingPipeline"});
    let resource = json!({"group": "streams.sentry.io", "version": "v1alpha1", "resource": "streamingpipelines"});
    let review = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": object["metadata"]["name"],
            "namespace": "ingest",
            "operation": operation,
            "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
            "object": object,
            "oldObject": old,
            "dryRun": dry_run,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"}
        }
    });
    review.to_string().into_bytes()
}
