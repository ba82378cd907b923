//! `validate --server` against a real API server with the webhook installed: what only the cluster knows is told too,
//! and nothing is stored.

use std::process::{Command, Output};

use serde_json::{Value, json};
use testkit::users;

use super::bed::{Bed, manifest};

/// Runs the program as a user; `-` is no file here.
async fn validate(bed: &Bed, user: &str, objects: &[Value], arguments: &[&str]) -> Output {
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
    std::fs::write(&file, texts.join("\n")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command
        .args(["validate", "--server", "-f"])
        .arg(file.path())
        .args(arguments);
    command.env("KUBECONFIG", bed.cluster.kubeconfig(user).expect("a kubeconfig"));
    let output = tokio::task::spawn_blocking(move || {
        let output = command.output().expect("the program");
        drop(file);
        output
    });
    output.await.expect("it ran")
}

fn named(bed: &Bed, name: &str) -> Value {
    let mut object = manifest(name);
    object["metadata"]["namespace"] = json!(bed.namespace);
    object
}

/// The exit code, and each line of stdout from the path on.
fn told(output: &Output) -> (Option<i32>, Vec<String>) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text
        .lines()
        .map(|line| line.splitn(3, ": ").nth(2).unwrap_or(line).to_owned());
    (output.status.code(), lines.collect())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_good_document_is_valid_new_or_stored_and_nothing_is_stored_by_asking() {
    let bed = Bed::start().await;
    let new = named(&bed, "new");
    let valid = vec!["valid".to_owned()];
    assert_eq!(
        told(&validate(&bed, users::ADMIN, std::slice::from_ref(&new), &[]).await),
        (Some(0), valid.clone())
    );
    assert_eq!(bed.names_of_pipelines().await, Vec::<String>::new());
    bed.apply(&new).await.expect("it is admitted");
    let before = bed.stored("new").await;
    let mut edited = new;
    edited["spec"]["image_name"] = json!("registry.example/consumer:2");
    edited["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(
        told(&validate(&bed, users::ADMIN, &[edited], &[]).await),
        (Some(0), valid)
    );
    assert_eq!(bed.stored("new").await, before);
}

#[tokio::test]
async fn what_only_the_cluster_knows_is_told() {
    let bed = Bed::start().await;
    let (mut first, mut second) = (named(&bed, "first"), named(&bed, "second"));
    first["spec"]["pipeline_name"] = json!("a.b");
    second["spec"]["pipeline_name"] = json!("a_b");
    bed.apply(&first).await.expect("it is admitted");

    // A name that a stored pipeline has.
    let (code, lines) = told(&validate(&bed, users::ADMIN, &[second], &[]).await);
    let collision = format!(
        "spec.pipeline_name: NameCollision: StreamingPipeline {}/first can have Pods",
        bed.namespace
    );
    assert_eq!((code, lines.len()), (Some(1), 1), "{lines:?}");
    assert!(lines[0].starts_with(&collision), "{lines:?}");

    // What may not change, found on both sides and told once.
    first["spec"]["service_name"] = json!("other");
    first["spec"]["pipeline_name"] = json!("else");
    first["spec"]["segment_id"] = json!(7);
    let (code, lines) = told(&validate(&bed, users::ADMIN, &[first.clone()], &[]).await);
    let fields: Vec<_> = lines
        .iter()
        .map(|line| line.split(": ").next().unwrap_or_default())
        .collect();
    assert_eq!(code, Some(1));
    assert_eq!(
        fields,
        [
            "spec.service_name",
            "spec.segment_id",
            "spec.pipeline_name",
            "spec.segment_id"
        ],
        "segment_id is immutable, and there is no segment 7: {lines:?}"
    );

    // A namespace that is not there, and a field that nobody knows beside a fault that only the webhook finds.
    let mut elsewhere = named(&bed, "elsewhere");
    elsewhere["metadata"]["namespace"] = json!("not-there");
    let (code, lines) = told(&validate(&bed, users::ADMIN, &[elsewhere], &[]).await);
    assert_eq!(
        (code, lines),
        (
            Some(1),
            vec!["metadata.namespace: namespaces \"not-there\" not found".to_owned()]
        )
    );
    let mut unknown = named(&bed, "unknown");
    unknown["spec"]["replica"] = json!(3);
    unknown["spec"]["pipeline_name"] = json!("a.b");
    let (code, lines) = told(&validate(&bed, users::ADMIN, &[unknown], &[]).await);
    assert_eq!(code, Some(1));
    assert_eq!(
        (lines.len(), lines[0].as_str()),
        (2, "spec.replica: unknown field"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with(&collision), "{lines:?}");
}

#[tokio::test]
async fn a_fault_of_the_stored_object_is_a_warning_as_it_would_be_when_applied() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let mut old = named(&bed, "old");
    old["spec"]["segment_id"] = json!(7);
    bed.apply(&old).await.expect("nobody judges");
    bed.install_webhooks().await;
    bed.wait_until_admission_works().await;
    old["spec"]["pipeline_name"] = json!("old");
    old["spec"]["image_name"] = json!("registry.example/consumer:2");
    let (code, lines) = told(&validate(&bed, users::ADMIN, &[old], &[]).await);
    assert_eq!(code, Some(0), "{lines:?}");
    assert_eq!(lines[0], "valid");
    assert!(
        lines[1].starts_with("warning: spec.segment_id: (fault of the stored object)"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2, "told by both, said once");
}

#[tokio::test]
async fn a_quota_is_a_fault_and_a_user_without_rights_is_not_answered() {
    let bed = Bed::start().await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": bed.namespace},
        "spec": {"hard": {"count/streamingpipelines.streams.sentry.io": "0"}}});
    bed.cluster.apply(&[quota]).await.expect("it is taken");
    let status = r#"{"status":{"hard":{"count/streamingpipelines.streams.sentry.io":"0"},"used":{"count/streamingpipelines.streams.sentry.io":"0"}}}"#;
    bed.kubectl(&[
        "patch",
        "quota",
        "none",
        "--subresource=status",
        "--type=merge",
        "--patch",
        status,
    ])
    .await
    .expect("what the controller manager would write");
    let new = named(&bed, "new");
    let look = async || {
        let told = told(&validate(&bed, users::ADMIN, std::slice::from_ref(&new), &[]).await);
        Ok(testkit::wait::Seen::when(told, |(code, _)| *code == Some(1)))
    };
    let (_, lines) = testkit::wait::until("the quota", testkit::wait::DEADLINE, look)
        .await
        .expect("it counts");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("exceeded quota: none"), "{lines:?}");

    let output = validate(&bed, users::TENANT_A, &[new], &["-o", "json"]).await;
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("User \"tenant-a\" cannot get resource \"streamingpipelines\""),
        "{}",
        stderr(&output)
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["valid"], json!(false));
    assert!(report["documents"][0]["unasked"].is_string(), "{report}");
}

#[tokio::test]
async fn while_no_replica_answers_there_is_no_answer_but_what_is_known_offline() {
    let mut bed = Bed::start().await;
    bed.stop().await;
    let mut broken = named(&bed, "broken");
    broken["spec"]["segment_id"] = json!(7);
    let output = validate(&bed, users::ADMIN, &[named(&bed, "good"), broken], &[]).await;
    let (code, lines) = told(&output);
    assert_eq!((code, lines.len()), (Some(4), 1), "{lines:?}");
    assert!(lines[0].starts_with("spec.segment_id: "), "{lines:?}");
    assert_eq!(
        stderr(&output).matches("failed calling webhook").count(),
        2,
        "{}",
        stderr(&output)
    );
}
