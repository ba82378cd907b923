//! The webhook as an API server meets it: over a real socket, with TLS, with reviews as they come on the wire.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod access;
mod bed;
mod bytes;
mod crowd;
mod oracle;
mod reviews;
mod slow;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use streaming_operator::server::Limits;

use bed::{Answer, Bed, Client};
use reviews::{create, object, update};
use slow::one_place;

const JSON: &str = "application/json";

fn causes(answer: &Answer) -> Vec<(String, String)> {
    let causes = answer.review()["response"]["status"]["details"]["causes"].clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let causes = causes.as_array().expect("causes").iter();
    causes
        .map(|cause| (text(&cause["field"]), text(&cause["message"])))
        .collect()
}

#[tokio::test]
async fn mutate_writes_the_defaults_that_are_absent_and_nothing_else() {
    let bed = Bed::start().await;
    let mut object = object("checkout");
    object["spec"]["fieldOfALaterRelease"] = json!({"a": 1.50});
    let answer = bed.client().await.post("/mutate", JSON, &create(&object)).await;
    assert_eq!(answer.status, 200);
    let response = &answer.review()["response"];
    assert_eq!(
        (&response["allowed"], &response["patchType"]),
        (&json!(true), &json!("JSONPatch"))
    );
    let patch = STANDARD
        .decode(response["patch"].as_str().expect("base64"))
        .expect("base64");
    let patch: Value = serde_json::from_slice(&patch).expect("JSON");
    let expected = json!([
        {"op": "add", "path": "/spec/container_name", "value": "pipeline-consumer"},
        {"op": "add", "path": "/spec/enable_liveness_probe", "value": true},
        {"op": "add", "path": "/spec/log_level", "value": "INFO"},
        {"op": "add", "path": "/spec/pipeline_name", "value": "checkout"},
        {"op": "add", "path": "/spec/replicas", "value": 1},
        {"op": "add", "path": "/spec/revisionHistoryLimit", "value": 10},
        {"op": "add", "path": "/spec/rollout", "value": {
            "paused": false, "maxUnavailable": "25%", "minReadySeconds": 0, "progressDeadlineSeconds": 600,
            "podReplacementPolicy": "TerminatingOrFailed", "requireAnalysis": false, "onFailure": "Pause"}},
        {"op": "add", "path": "/spec/segment_id", "value": 0},
        {"op": "add", "path": "/spec/suspend", "value": false},
        {"op": "add", "path": "/spec/with_canary", "value": false},
    ]);
    let mut patch = patch.as_array().expect("operations").clone();
    patch.sort_by_key(|operation| operation["path"].to_string());
    assert_eq!(Value::Array(patch), expected);
}

#[tokio::test]
async fn mutate_of_a_defaulted_object_has_no_patch() {
    let bed = Bed::start().await;
    let mut client = bed.client().await;
    let answer = client
        .post("/mutate", JSON, &create(&reviews::defaulted("checkout")))
        .await;
    assert_eq!(
        answer.review()["response"],
        json!({"uid": reviews::UID, "allowed": true})
    );
}

#[tokio::test]
async fn validate_admits_a_good_pipeline_with_a_query_that_is_ignored() {
    let bed = Bed::start().await;
    let answer = bed
        .client()
        .await
        .post("/validate?timeout=5s", JSON, &create(&object("checkout")))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.review(),
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
               "response": {"uid": reviews::UID, "allowed": true}})
    );
}

#[tokio::test]
async fn every_fault_is_in_one_answer_with_its_path() {
    let bed = Bed::start().await;
    let mut object = object("checkout");
    object["spec"]["replicas"] = json!(-1);
    object["spec"]["image_name"] = json!("");
    object["spec"]["segment_id"] = json!(7);
    let answer = bed.client().await.post("/validate", JSON, &create(&object)).await;
    let status = &answer.review()["response"]["status"];
    assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
    assert_eq!(status["details"]["name"], json!("checkout"));
    let mut paths: Vec<_> = causes(&answer).into_iter().map(|(path, _)| path).collect();
    paths.sort();
    assert_eq!(paths, ["spec.image_name", "spec.replicas", "spec.segment_id"]);
}

#[tokio::test]
async fn an_update_is_not_refused_for_a_fault_that_it_did_not_bring_in() {
    let bed = Bed::start().await;
    let mut old = object("checkout");
    old["spec"]["replicas"] = json!(-1);
    let mut new = old.clone();
    new["spec"]["image_name"] = json!("registry.example/consumer:2");
    let answer = bed.client().await.post("/validate", JSON, &update(&new, &old)).await;
    let response = &answer.review()["response"];
    assert_eq!(response["allowed"], json!(true), "{response}");
    let warnings = response["warnings"].as_array().expect("warnings");
    assert!(
        warnings
            .iter()
            .any(|text| text.as_str().is_some_and(|text| text.contains("spec.replicas")))
    );
}

#[tokio::test]
async fn an_object_that_is_being_deleted_passes_whatever_is_wrong_with_it() {
    let bed = Bed::start().await;
    let mut old = object("checkout");
    old["spec"] = json!({"replicas": "many"});
    old["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    old["metadata"]["finalizers"] = json!(["streams.sentry.io/cleanup"]);
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    let mut client = bed.client().await;
    for path in ["/mutate", "/validate"] {
        let answer = client.post(path, JSON, &update(&new, &old)).await;
        assert_eq!(
            answer.review()["response"],
            json!({"uid": reviews::UID, "allowed": true}),
            "{path}"
        );
    }
}

#[tokio::test]
async fn bodies_that_are_no_review_get_a_status_of_http() {
    let bed = Bed::start().await;
    let mut client = bed.client().await;
    let review = create(&object("checkout"));
    let two_objects = vec![b' '; 9 * 1024 * 1024];
    for (content_type, body, status) in [
        (JSON, b"".to_vec(), 400),
        (JSON, b"not JSON".to_vec(), 400),
        (JSON, b"\xff\xfe".to_vec(), 400),
        (JSON, b"[]".to_vec(), 400),
        (JSON, b"{}".to_vec(), 400),
        (
            JSON,
            br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}"#.to_vec(),
            400,
        ),
        (JSON, br#"{"request":{"uid":""}}"#.to_vec(), 400),
        (JSON, "[".repeat(100_000).into_bytes(), 400),
        (JSON, two_objects, 413),
        ("text/plain", review.clone(), 415),
        ("", review.clone(), 415),
        ("application/json; charset=utf-8", review.clone(), 200),
    ] {
        for path in ["/mutate", "/validate"] {
            let answer = client.post(path, content_type, &body).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            assert_eq!(
                answer.status,
                status,
                "{path} {content_type} {shown}: {}",
                answer.text()
            );
        }
    }
    assert_eq!(client.get("/validate").await.status, 405);
    assert_eq!(client.post("/elsewhere", JSON, &review).await.status, 404);
}

#[tokio::test]
async fn what_has_a_uid_gets_a_review_that_refuses_with_400() {
    let bed = Bed::start().await;
    let mut client = bed.client().await;
    let changed = |change: fn(&mut Value)| {
        let mut review: Value = serde_json::from_slice(&create(&object("checkout"))).expect("JSON");
        change(&mut review);
        review.to_string().into_bytes()
    };
    for body in [
        changed(|review| review["kind"] = json!("ConversionReview")),
        changed(|review| review["apiVersion"] = json!("admission.k8s.io/v1beta1")),
        changed(|review| review["request"]["kind"]["kind"] = json!("Deployment")),
        changed(|review| review["request"]["kind"] = Value::Null),
        changed(|review| review["request"]["object"] = Value::Null),
        changed(|review| review["request"]["object"] = json!("text")),
    ] {
        for path in ["/mutate", "/validate"] {
            let answer = client.post(path, JSON, &body).await;
            assert_eq!(answer.status, 200);
            let response = &answer.review()["response"];
            assert_eq!(
                (&response["uid"], &response["allowed"]),
                (&json!(reviews::UID), &json!(false))
            );
            assert_eq!(response["status"]["code"], json!(400), "{response}");
        }
    }
}

#[tokio::test]
async fn before_all_names_are_known_nothing_is_judged() {
    let bed = Bed::start_unsynced().await;
    let answer = bed
        .client()
        .await
        .post("/validate", JSON, &create(&object("checkout")))
        .await;
    let response = &answer.review()["response"];
    assert_eq!(response["allowed"], json!(false));
    assert_eq!(response["status"]["code"], json!(503));
    assert_eq!(response["status"]["reason"], json!("ServiceUnavailable"));
}

#[tokio::test]
async fn names_are_reserved_by_an_admission_and_not_by_a_dry_run() {
    let bed = Bed::start().await;
    let mut client = bed.client().await;
    let validate = async |client: &mut Client, name: &str, pipeline: &str, dry_run: bool| {
        let mut object = object(name);
        object["spec"]["pipeline_name"] = json!(pipeline);
        client
            .post("/validate", JSON, &reviews::create_with(&object, dry_run))
            .await
    };
    let allowed = |answer: &Answer| answer.review()["response"]["allowed"] == json!(true);
    assert!(allowed(&validate(&mut client, "tried", "a.b", true).await));
    assert!(
        allowed(&validate(&mut client, "first", "a.b", false).await),
        "the dry run reserved nothing"
    );
    assert!(
        allowed(&validate(&mut client, "first", "a.b", false).await),
        "its own reservation is no obstacle"
    );
    for dry_run in [true, false] {
        let refused = validate(&mut client, "second", "a_b", dry_run).await;
        let (path, message) = causes(&refused).pop().expect("a cause");
        assert_eq!(path, "spec.pipeline_name");
        assert!(
            message.starts_with("NameCollision: StreamingPipeline ingest/first can have"),
            "{message}"
        );
    }
    assert!(allowed(&validate(&mut client, "third", "other", false).await));
}

/// The value of a series in `/metrics`; 0 while there is none.
fn series(bed: &Bed, name: &str) -> u64 {
    let text = bed.metrics.exposition().expect("metrics");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0, |value| value.parse().expect("a number"))
}

#[tokio::test]
async fn answers_are_counted_by_outcome_and_their_time_by_path() {
    let bed = Bed::start_with(Limits::webhook(Duration::ZERO), one_place()).await;
    let mut client = bed.client().await;
    let mut faulty = object("checkout");
    faulty["spec"]["replicas"] = json!(-1);
    let mut other = serde_json::from_slice::<Value>(&create(&object("checkout"))).expect("JSON");
    other["request"]["kind"]["kind"] = json!("Pod");
    for (path, body) in [
        ("/validate", create(&object("checkout"))),
        ("/validate", update(&object("checkout"), &object("checkout"))),
        ("/validate", create(&faulty)),
        ("/mutate", create(&object("checkout"))),
        ("/mutate", create(&reviews::defaulted("checkout"))),
        ("/mutate", b"not JSON".to_vec()),
        ("/validate", other.to_string().into_bytes()),
    ] {
        client.post(path, JSON, &body).await;
    }
    client.post("/mutate", "text/plain", b"").await;
    let mut slow = bed.client().await.post_in_parts("/validate", JSON).await;
    slow.is_being_read().await;
    assert_eq!(client.post("/validate", JSON, b"").await.status, 429);
    for (kind, operation, outcome, count) in [
        ("StreamingPipeline", "create", "allowed", 2),
        ("StreamingPipeline", "update", "allowed", 1),
        ("StreamingPipeline", "create", "patched", 1),
        ("StreamingPipeline", "create", "denied", 1),
        ("other", "other", "malformed", 3),
        ("other", "other", "overloaded", 1),
        ("other", "other", "unavailable", 0),
    ] {
        let name = format!(
            r#"streaming_operator_admission_requests_total{{kind="{kind}",operation="{operation}",outcome="{outcome}"}}"#
        );
        assert_eq!(series(&bed, &name), count, "{name}");
    }
    for (path, count) in [("/validate", 5), ("/mutate", 4)] {
        let name = format!(r#"streaming_operator_admission_duration_seconds_count{{path="{path}"}}"#);
        assert_eq!(series(&bed, &name), count, "{name}");
    }
}

#[tokio::test]
async fn what_could_not_be_judged_is_counted_as_unavailable() {
    let bed = Bed::start_unsynced().await;
    bed.client()
        .await
        .post("/validate", JSON, &create(&object("checkout")))
        .await;
    let name = r#"streaming_operator_admission_requests_total{kind="StreamingPipeline",operation="create",outcome="unavailable"}"#;
    assert_eq!(series(&bed, name), 1);
}

#[tokio::test]
async fn a_new_certificate_is_served_to_new_connections_while_old_ones_go_on() {
    let bed = Bed::start().await;
    let review = create(&object("checkout"));
    let mut old = bed.client().await;
    assert_eq!(old.post("/validate", JSON, &review).await.status, 200);
    for _ in 0..2 {
        let before = bed.client().await.certificate;
        let renewed = bed.renew_certificate();
        let mut new = bed.client().await;
        assert!(new.certificate == renewed && new.certificate != before);
        assert_eq!(new.post("/validate", JSON, &review).await.status, 200);
        assert_eq!(old.post("/validate", JSON, &review).await.status, 200);
    }
}

#[tokio::test]
async fn only_http_1_1_is_offered() {
    let bed = Bed::start().await;
    assert_eq!(
        bed.negotiate(&[b"h2", b"http/1.1"]).await.expect("a connection"),
        Some(b"http/1.1".to_vec())
    );
    assert!(bed.negotiate(&[b"h2"]).await.is_err());
}

#[tokio::test]
async fn garbage_and_dropped_connections_disturb_nobody() {
    let bed = Bed::start().await;
    let review = create(&object("checkout"));
    let mut kept = bed.client().await;
    for _ in 0..50 {
        bed.send_garbage().await;
        drop(bed.client().await);
        let mut cut = bed.client().await.post_in_parts("/validate", JSON).await;
        cut.is_being_read().await;
        cut.send("{").await;
        drop(cut);
        assert_eq!(kept.post("/validate", JSON, &review).await.status, 200);
    }
}

#[tokio::test]
async fn a_request_in_hand_is_finished_when_the_server_stops() {
    let mut bed = Bed::start().await;
    let review = create(&object("checkout"));
    let (first, second) = review.split_at(100);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("ASCII");
    let mut slow = bed.client().await.post_in_parts("/validate", JSON).await;
    slow.send(&text(first)).await;
    slow.is_being_read().await;
    bed.cancel.cancel();
    slow.send(&text(second)).await;
    slow.end();
    let answer = slow.answer().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.review()["response"]["allowed"], json!(true));
    bed.ended().await;
    assert!(bed.connect().await.is_err(), "nobody listens any more");
}
