//! RolloutAnalyses through a real API server: defaults, refusals, and what holds while the webhook is away.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::fixtures;
use testkit::wait::{self, Seen};

use super::bed::Bed;

/// What kubectl says of an analysis that is applied in a dry run; `None`: it is taken.
async fn refusal(bed: &Bed, object: &Value) -> Option<String> {
    bed.apply_with(object, &["--dry-run=server"]).await.err()
}

#[tokio::test]
async fn an_analysis_is_stored_with_its_defaults_and_shown_in_its_columns() {
    let bed = Bed::start().await;
    bed.apply(&fixtures::analysis("checkout"))
        .await
        .expect("it is admitted");
    let text = bed
        .kubectl(&["get", "ra", "checkout", "-o", "json"])
        .await
        .expect("it exists");
    let stored: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        stored["spec"],
        json!({"target": {"kind": "StreamingPipeline", "name": "checkout"},
               "metrics": [{"name": "errors", "query": "errors", "maxValue": 1, "source": "default"}],
               "interval": "30s", "failureLimit": 3, "requiredPasses": 5, "initialDelay": "0s", "onNoData": "Pause",
               "mode": "Enforce"})
    );
    assert_eq!(stored["status"], json!({"observedGeneration": -1}));
    let table = bed.kubectl(&["get", "ra", "checkout"]).await.expect("a table");
    let head: Vec<&str> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(
        head,
        [
            "NAME", "TARGET", "VERDICT", "FAILURES", "PASSES", "VALUE", "LIMIT", "REASON", "AGE"
        ]
    );
}

#[tokio::test]
async fn an_analysis_is_refused_with_the_path_of_what_only_the_webhook_knows() {
    let bed = Bed::start().await;
    let broken = fixtures::edited_analysis(
        "broken",
        &json!({"metrics": [
            {"name": "range", "query": "up[5m]", "minValue": 1},
            {"name": "other", "query": "rate(x[5m])[1h:]", "maxValue": 1},
        ]}),
    );
    let refusal = refusal(&bed, &broken).await.expect("it is refused");
    assert!(
        refusal.contains("The RolloutAnalysis \"broken\" is invalid:"),
        "{refusal}"
    );
    for index in [0, 1] {
        let words = format!("* spec.metrics[{index}].query: results in a range vector, must be an instant vector");
        assert!(refusal.contains(&words), "{refusal}");
    }
    let odd = fixtures::edited_analysis(
        "odd",
        &json!({"metrics": [
        {"name": "odd", "query": "up default 0", "minValue": 1, "source": "long-term"}]}),
    );
    bed.apply_with(&odd, &["--dry-run=server"])
        .await
        .expect("it is only odd");
}

/// What the schema refuses, with the field and the words of each cause.
fn refused_by_the_schema() -> Vec<(Value, &'static str, &'static str)> {
    let duration = "must be a duration of whole hours, minutes and seconds, such as 30s, 1m30s or 1h";
    let variable = "has a $( that begins none of the variables";
    let metric = |edit: Value| {
        let mut metric = json!({"name": "errors", "query": "errors", "maxValue": 1});
        json_patch::merge(&mut metric, &edit);
        json!({"metrics": [metric]})
    };
    vec![
        (json!({"interval": "4s"}), "spec.interval", "must be from 5s to 24h"),
        (json!({"interval": "24h1s"}), "spec.interval", "must be from 5s to 24h"),
        (json!({"interval": "1.5m"}), "spec.interval", duration),
        (json!({"interval": ""}), "spec.interval", duration),
        (
            json!({"interval": "99999h99999m"}),
            "spec.interval",
            "must be from 5s to 24h",
        ),
        (json!({"initialDelay": "1d"}), "spec.initialDelay", duration),
        (
            json!({"initialDelay": "25h"}),
            "spec.initialDelay",
            "must be from 0s to 24h",
        ),
        (
            json!({"failureLimit": 0}),
            "spec.failureLimit",
            "should be greater than or equal to 1",
        ),
        (
            json!({"requiredPasses": 1001}),
            "spec.requiredPasses",
            "should be less than or equal to 1000",
        ),
        (json!({"mode": "Off"}), "spec.mode", "Unsupported value"),
        (json!({"onNoData": "Ignore"}), "spec.onNoData", "Unsupported value"),
        (
            json!({"target": {"kind": "StatefulSet"}}),
            "spec.target.kind",
            "Unsupported value",
        ),
        (
            json!({"target": {"name": "../x"}}),
            "spec.target.name",
            "is no name of an object",
        ),
        (json!({"metrics": []}), "spec.metrics", "should have at least 1 items"),
        (
            metric(json!({"name": "a b"})),
            "spec.metrics[0].name",
            "must be of A-Z, a-z",
        ),
        (
            metric(json!({"query": ""})),
            "spec.metrics[0].query",
            "should be at least 1 chars long",
        ),
        (
            metric(json!({"query": "up{pod=~\"$(pods)\"}"})),
            "spec.metrics[0].query",
            variable,
        ),
        (metric(json!({"query": "$$( $("})), "spec.metrics[0].query", variable),
        (
            metric(json!({"maxValue": null})),
            "spec.metrics[0]",
            "has no limit: set maxValue, minValue or both",
        ),
        (
            metric(json!({"minValue": 1.5})),
            "spec.metrics[0].minValue",
            "must not be above maxValue",
        ),
        (
            json!({"metrics": [{"name": "a", "query": "up", "minValue": 1}, {"name": "a", "query": "up", "minValue": 2}]}),
            "spec.metrics[1]",
            "Duplicate value",
        ),
    ]
}

#[tokio::test]
async fn without_the_webhook_the_api_server_keeps_every_limit_of_an_analysis_itself() {
    let bed = Bed::start().await;
    bed.remove_webhooks().await;
    let mut wrong = BTreeSet::new();
    for (edit, field, words) in refused_by_the_schema() {
        let said = refusal(&bed, &fixtures::edited_analysis("checkout", &edit))
            .await
            .unwrap_or_default();
        if !(said.contains(&format!("{field}: ")) && said.contains(words)) {
            wrong.insert(format!("{edit}: {said}"));
        }
    }
    let accepted = json!({"interval": "5s", "initialDelay": "24h", "failureLimit": 1000, "metrics": [
        {"name": "p99.latency_s", "query": "a{b=~\"x($$(y))\",pod=~\"$(canaryPods)|$(primaryPods)\"}", "minValue": 1, "maxValue": 1},
        {"name": "b", "query": "x".repeat(8192), "maxValue": -0.5},
    ]});
    wrong.extend(refusal(&bed, &fixtures::edited_analysis("checkout", &accepted)).await);
    assert!(wrong.is_empty(), "{wrong:#?}");
    bed.apply(&fixtures::analysis("checkout")).await.expect("it is taken");
    let interval = [
        "get",
        "ra",
        "checkout",
        "-o",
        "jsonpath={.spec.interval} {.spec.metrics[0].source}",
    ];
    assert_eq!(bed.kubectl(&interval).await.as_deref(), Ok("30s default"));
}

#[tokio::test]
async fn while_no_replica_answers_an_analysis_can_be_labelled_and_deleted_and_not_edited() {
    let mut bed = Bed::start().await;
    bed.apply(&fixtures::analysis("checkout"))
        .await
        .expect("it is admitted");
    // The API server learns of the second entry of the configurations when it learns of the first.
    let look = async || {
        let object = fixtures::edited_analysis(
            "x",
            &json!({"metrics": [{"name": "a", "query": "up[5m]", "minValue": 1}]}),
        );
        Ok(Seen::when(refusal(&bed, &object).await, Option::is_some))
    };
    wait::until("the webhook judges analyses", wait::DEADLINE, look)
        .await
        .expect("it does");
    bed.stop().await;
    let patch = [
        "patch",
        "ra",
        "checkout",
        "--type=merge",
        "--patch",
        r#"{"spec":{"interval":"1m"}}"#,
    ];
    let refusal = bed.kubectl(&patch).await.expect_err("an edit is refused");
    assert!(refusal.contains("failed calling webhook"), "{refusal}");
    bed.kubectl(&["label", "ra", "checkout", "a=b"])
        .await
        .expect("metadata");
    bed.kubectl(&["delete", "ra", "checkout"]).await.expect("deletion");
}
