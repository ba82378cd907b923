//! Admission through a real API server, which finds the webhook by its Service, over TLS, with the chart's rights.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod access;
mod analyses;
mod analysis_access;
mod away;
mod bed;
mod collisions;
mod defaults;
mod dry_run;
mod forms;
mod nesting;
mod offline;
mod ratchet;
mod rules;
mod schema;
mod warnings;
mod ways;

use serde_json::{Value, json};
use testkit::wait::{self, Seen};

use bed::{Bed, manifest};

#[tokio::test]
async fn what_is_absent_is_defaulted_before_it_is_stored() {
    let bed = Bed::start().await;
    bed.apply(&manifest("checkout")).await.expect("it is admitted");
    let stored = bed.stored("checkout").await;
    assert_eq!(
        stored["spec"]["pipeline_name"],
        json!("checkout"),
        "only the webhook knows this default"
    );
    assert_eq!(stored["spec"]["rollout"]["maxUnavailable"], json!("25%"));
    assert_eq!(
        stored["spec"]["container_template"]["env"][0]["value"],
        json!("eu"),
        "what is open stays as it was"
    );
}

#[tokio::test]
async fn a_manifest_is_refused_with_all_its_faults_as_kubectl_shows_them() {
    let bed = Bed::start().await;
    let mut broken = manifest("broken");
    broken["spec"]["segment_id"] = json!(7);
    broken["spec"]["emergency_patch"] = json!({"metadata": {"name": "other"}});
    let refusal = bed.apply(&broken).await.expect_err("it is refused");
    assert!(
        refusal.contains("The StreamingPipeline \"broken\" is invalid:"),
        "{refusal}"
    );
    assert!(refusal.contains("* spec.segment_id: "), "{refusal}");
    assert!(refusal.contains("* spec.emergency_patch.metadata.name: "), "{refusal}");
    assert_eq!(bed.names_of_pipelines().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_name_that_another_pipeline_has_is_refused_until_that_one_is_gone() {
    let bed = Bed::start().await;
    let (mut first, mut second) = (manifest("first"), manifest("second"));
    first["spec"]["pipeline_name"] = json!("a.b");
    second["spec"]["pipeline_name"] = json!("a_b");
    bed.apply(&first).await.expect("it is admitted");
    let refusal = bed.apply(&second).await.expect_err("it is refused");
    let holder = format!("NameCollision: StreamingPipeline {}/first", bed.namespace);
    assert!(refusal.contains(&holder), "{refusal}");
    bed.kubectl(&["delete", "spipe", "first"]).await.expect("it is deleted");
    // Gone from the API server and known to be gone here are two things, and the reservation lasts 30 s.
    wait::until("the name is free", wait::DEADLINE, async || {
        let refusal = bed.apply(&second).await.err();
        Ok(Seen::when(refusal, Option::is_none))
    })
    .await
    .expect("the second is admitted");
}

#[tokio::test]
async fn a_dry_run_is_judged_and_leaves_nothing_behind() {
    let bed = Bed::start().await;
    let (mut first, mut second) = (manifest("first"), manifest("second"));
    first["spec"]["pipeline_name"] = json!("a.b");
    second["spec"]["pipeline_name"] = json!("a_b");
    bed.apply_with(&first, &["--dry-run=server"])
        .await
        .expect("it would be admitted");
    bed.apply(&second).await.expect("nothing was reserved");
}

#[tokio::test]
async fn while_no_replica_answers_only_creates_and_spec_edits_are_refused() {
    let mut bed = Bed::start().await;
    bed.apply(&manifest("checkout")).await.expect("it is admitted");
    bed.stop().await;
    let refusal = bed.apply(&manifest("other")).await.expect_err("a create is refused");
    assert!(refusal.contains("failed calling webhook"), "{refusal}");
    let edit = r#"{"spec":{"image_name":"registry.example/consumer:2"}}"#;
    bed.patch("checkout", edit).await.expect_err("a spec edit is refused");
    bed.patch("checkout", r#"{"metadata":{"finalizers":["example.com/held"]}}"#)
        .await
        .expect("finalizers");
    bed.kubectl(&["annotate", "spipe", "checkout", "a=b"])
        .await
        .expect("metadata");
    bed.kubectl(&["scale", "spipe", "checkout", "--replicas=5"])
        .await
        .expect("scale");
    bed.kubectl(&["delete", "spipe", "checkout", "--wait=false"])
        .await
        .expect("deletion");
    bed.patch("checkout", r#"{"metadata":{"finalizers":null}}"#)
        .await
        .expect("the finalizer goes");
    assert_eq!(bed.names_of_pipelines().await, Vec::<String>::new());
}

#[tokio::test]
async fn admission_works_again_after_the_bundle_was_stripped_replaced_or_installed_anew() {
    let bed = Bed::start().await;
    let other = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    for value in [Value::Null, json!(other)] {
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            let operation = if value.is_null() { "remove" } else { "replace" };
            let path = "/webhooks/0/clientConfig/caBundle";
            let edit = json!([{"op": operation, "path": path, "value": value}]).to_string();
            bed.wait_for_bundles().await;
            bed.kubectl(&["patch", kind, "streaming-operator", "--type=json", "--patch", &edit])
                .await
                .expect("the bundle can be edited");
        }
        bed.wait_until_admission_works().await;
    }
    bed.kubectl(&[
        "delete",
        "mutatingwebhookconfiguration,validatingwebhookconfiguration",
        "streaming-operator",
    ])
    .await
    .expect("they are deleted");
    bed.install_webhooks().await;
    bed.wait_until_admission_works().await;
}

#[tokio::test]
async fn the_operator_owns_ca_bundle_in_the_configurations_and_nothing_else() {
    let bed = Bed::start().await;
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let text = bed
            .kubectl(&["get", kind, "streaming-operator", "--show-managed-fields", "-o", "json"])
            .await;
        let found: Value = serde_json::from_str(&text.expect("it exists")).expect("JSON");
        let managers = found["metadata"]["managedFields"].as_array().expect("managers").iter();
        let ours: Vec<_> = managers
            .filter(|manager| manager["manager"] == "streaming-operator-ca")
            .collect();
        assert_eq!(ours.len(), 1);
        let verb = kind.strip_suffix("webhookconfiguration").expect("a kind");
        let verb = if verb == "mutating" { "default" } else { "validate" };
        let owned = json!({".": {}, "f:name": {}, "f:clientConfig": {"f:caBundle": {}}});
        let key = |plural: &str| format!("k:{{\"name\":\"{verb}.{plural}.streams.sentry.io\"}}");
        assert_eq!(
            ours[0]["fieldsV1"],
            json!({"f:webhooks": {key("rolloutanalyses"): owned, key("streamingpipelines"): owned}})
        );
    }
}
