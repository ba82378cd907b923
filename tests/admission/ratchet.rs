//! Faults that are stored already, from before a rule was there or from while the webhook was away.

use serde_json::{Value, json};
use testkit::fixtures::{self, RuleFixture};
use testkit::wait::{self, Seen};

use crate::bed::Bed;
use crate::ways::Sender;

/// What only the webhook refuses, and every edit does not make another fault.
fn only_the_webhook_refuses() -> Vec<RuleFixture> {
    let all = fixtures::rules().expect("the fixtures can be read");
    let mut refused = all;
    refused.retain(|fixture| {
        let answer = &fixture.answer;
        let is_stored = answer.schema.is_empty() && answer.only.is_empty() && !answer.replaces;
        // The size of the whole spec is another one after every edit.
        fixture.is_refused() && is_stored && fixture.rule != "spec-size"
    });
    assert!(refused.len() > 15, "only {}", refused.len());
    refused
}

/// What a line keeps of a path that is too long for it.
fn ends(path: &str) -> (String, String) {
    let end = path.chars().count().saturating_sub(30);
    (path.chars().take(30).collect(), path.chars().skip(end).collect())
}

fn warnings_of(said: Result<Vec<String>, crate::ways::Refusal>, what: &str) -> Vec<String> {
    said.unwrap_or_else(|refusal| panic!("{what}: {}", refusal.text))
}

async fn patch(sender: &Sender, patch: &Value) -> Result<Vec<String>, crate::ways::Refusal> {
    let arguments = [
        "patch",
        "spipe",
        "checkout",
        "--type=merge",
        "--patch",
        &patch.to_string(),
    ]
    .map(str::to_owned);
    sender.kubectl(arguments.into()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_fault_is_a_warning_and_in_the_way_of_no_other_edit() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let mut stored = Vec::new();
    for fixture in only_the_webhook_refuses() {
        let sender = Sender::new(bed.cluster).await;
        sender.store(&fixture.object).await;
        stored.push((fixture, sender));
    }
    bed.install_webhooks().await;
    bed.wait_until_admission_works().await;

    for (fixture, sender) in &stored {
        let place = format!("{}/{}", fixture.rule, fixture.name);
        let said = warnings_of(patch(sender, &json!({"spec": {"suspend": true}})).await, &place);
        for fault in fixture.answer.faults.iter().take(8) {
            let (head, tail) = ends(&fault.field);
            let is_told = |line: &String| {
                let told = line.split_once(": (fault of the stored object) ");
                told.is_some_and(|(path, _)| path.starts_with(&head) && path.ends_with(&tail))
            };
            assert!(said.iter().any(is_told), "{place}: {}: {said:#?}", fault.field);
        }
        let worse = json!({"spec": {"container_template": {"livenessProbe": {"periodSeconds": 7}}}});
        if fixture.rule == "liveness-probe" {
            continue;
        }
        let refusal = patch(sender, &worse).await.expect_err("a new fault");
        let only = "spec.container_template.livenessProbe: must not be set while enable_liveness_probe is true, which \
                    sets it: leave it out, or turn that off";
        assert_eq!(
            refusal.causes.iter().map(String::as_str).collect::<Vec<_>>(),
            [only],
            "{place}"
        );
    }
}

/// Stores a pipeline with an impossible quantity while the webhook is away.
async fn with_a_stored_fault(bed: &Bed) -> Sender {
    bed.remove_webhooks().await;
    let sender = Sender::new(bed.cluster).await;
    let faulty = json!({"container_template": {"resources": {"limits": {"cpu": "-1"}}}});
    sender.store(&fixtures::edited("checkout", &faulty)).await;
    bed.install_webhooks().await;
    bed.wait_until_admission_works().await;
    sender
}

#[tokio::test]
async fn an_old_fault_is_told_in_its_words_and_a_changed_one_is_new() {
    let bed = Bed::start().await;
    let sender = with_a_stored_fault(&bed).await;
    let said = warnings_of(
        patch(&sender, &json!({"spec": {"replicas": 2}})).await,
        "an unrelated edit",
    );
    assert_eq!(
        said,
        ["spec.container_template.resources.limits.cpu: (fault of the stored object) \"-1\" is negative"]
    );
    let cpu = |value: &str| json!({"spec": {"container_template": {"resources": {"limits": {"cpu": value}}}}});
    let refusal = patch(&sender, &cpu("-2")).await.expect_err("another fault");
    assert_eq!(
        refusal.text,
        "The StreamingPipeline \"checkout\" is invalid: spec.container_template.resources.limits.cpu: \"-2\" is negative"
    );
    assert_eq!(
        warnings_of(patch(&sender, &cpu("2")).await, "the fault mended"),
        Vec::<String>::new()
    );
    patch(&sender, &cpu("-1"))
        .await
        .expect_err("a fault that was mended is new");
}

#[tokio::test]
async fn a_faulty_pipeline_can_be_scaled_given_a_status_and_deleted_without_a_word() {
    let bed = Bed::start().await;
    let sender = with_a_stored_fault(&bed).await;
    for arguments in [
        ["scale", "spipe", "checkout", "--replicas=4"].as_slice(),
        &["annotate", "spipe", "checkout", "a=b"],
        &["label", "spipe", "checkout", "a=b"],
        &[
            "patch",
            "spipe",
            "checkout",
            "--type=merge",
            "--patch",
            r#"{"metadata":{"finalizers":["example.com/held"]}}"#,
        ],
        &[
            "patch",
            "spipe",
            "checkout",
            "--type=merge",
            "--subresource=status",
            "--patch",
            r#"{"status":{"readyReplicas":1}}"#,
        ],
        &["delete", "spipe", "checkout", "--wait=false"],
        &[
            "patch",
            "spipe",
            "checkout",
            "--type=merge",
            "--patch",
            r#"{"spec":{"replicas":5}}"#,
        ],
        &[
            "patch",
            "spipe",
            "checkout",
            "--type=merge",
            "--patch",
            r#"{"metadata":{"finalizers":null}}"#,
        ],
    ] {
        let sent = sender
            .kubectl(arguments.iter().map(|argument| (*argument).to_owned()).collect())
            .await;
        assert_eq!(warnings_of(sent, &arguments.join(" ")), Vec::<String>::new());
    }
    let gone = async || Ok(Seen::when(sender.stored("checkout").await, Option::is_none));
    wait::until("the end of the pipeline", wait::DEADLINE, gone)
        .await
        .expect("it is gone");
}

/// The match conditions of the configurations, without which these would be refused.
#[tokio::test]
async fn while_no_replica_answers_a_status_an_unchanged_spec_and_any_edit_of_what_is_being_deleted_pass() {
    let mut bed = Bed::start().await;
    let sender = Sender::new(bed.cluster).await;
    let mut held = fixtures::pipeline("checkout");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    sender.store(&held).await;
    bed.stop().await;
    let edit = json!({"spec": {"image_name": "registry.example/app:2"}});
    let refusal = sender
        .merge("checkout", "", &edit)
        .await
        .expect_err("a spec edit is refused");
    assert!(refusal.text.contains("failed calling webhook"), "{}", refusal.text);
    let status = json!({"status": {"readyReplicas": 1}});
    sender.merge("checkout", "/status", &status).await.expect("the status");
    let scale = json!({"spec": {"replicas": 3}});
    sender.merge("checkout", "/scale", &scale).await.expect("the scale");
    let stored = sender.stored("checkout").await.expect("it is stored");
    sender
        .merge("checkout", "", &json!({"spec": stored["spec"]}))
        .await
        .expect("the same spec");
    sender.delete("checkout").await;
    sender
        .merge("checkout", "", &edit)
        .await
        .expect("a spec edit of what is being deleted");
    let free = json!({"metadata": {"finalizers": null}});
    sender.merge("checkout", "", &free).await.expect("the finalizer goes");
    assert_eq!(sender.stored("checkout").await, None);
}
