//! Targets that are not there, go while they are measured, or come back as others.

use std::time::Duration;

use serde_json::json;

use super::super::operator::{PIPELINES, pipeline, text};
use super::{ANALYSES, Answer, Bed, bad, good, later};

#[tokio::test(start_paused = true)]
async fn a_target_that_is_missing_is_said_and_nothing_is_asked() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| analysis["spec"]["target"]["name"] = json!("q"));
    later(120).await;
    assert_eq!(bed.condition("checkout", "TargetFound"), "False TargetMissing");
    assert_eq!(bed.condition("checkout", "Ready"), "False TargetMissing");
    assert_eq!(bed.source.asked(), Vec::<String>::new());
    bed.api.put(PIPELINES, pipeline("q", 1, "image:1"));
    later(120).await;
    assert_eq!(bed.condition("checkout", "TargetFound"), "True TargetFound");
    bed.assert_verdict("checkout", "Passed");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_deleted_while_it_is_measured_is_missing_and_the_measurement_counts_nothing() {
    let bed = Bed::new(Answer::Slow(Duration::from_secs(10), 0.31)).await;
    bed.analyse("checkout", |_| {});
    later(5).await;
    let asked = bed.source.asked().len();
    assert_eq!(asked, 1, "it is being measured");
    bed.api.remove(PIPELINES, "ns", "p");
    later(300).await;
    assert_eq!(bed.source.asked().len(), asked);
    assert_eq!(bed.condition("checkout", "TargetFound"), "False TargetMissing");
    let analysis = bed.api.get(ANALYSES, "ns", "checkout").expect("the analysis");
    assert_eq!(
        (&analysis["status"]["failures"], &analysis["status"]["passes"]),
        (&json!(0), &json!(0))
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_is_made_again_is_measured_afresh() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(100).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
    bed.source.answers(good());
    bed.api.remove(PIPELINES, "ns", "p");
    for name in bed.api.list("pods").keys() {
        bed.api.remove("pods", "ns", name.trim_start_matches("ns/"));
    }
    bed.api.put(PIPELINES, pipeline("p", 2, "image:2"));
    later(120).await;
    bed.assert_verdict("checkout", "Passed 0/2");
    let (target, analysis) = (
        bed.api.get(PIPELINES, "ns", "p").expect("the pipeline"),
        bed.api.get(ANALYSES, "ns", "checkout").expect("the analysis"),
    );
    assert_eq!(text(&analysis, "/status/targetUid"), text(&target, "/metadata/uid"));
}

#[tokio::test(start_paused = true)]
async fn an_analysis_that_is_deleted_while_it_measures_writes_nothing_more() {
    let bed = Bed::new(Answer::Slow(Duration::from_secs(10), 0.31)).await;
    bed.analyse("checkout", |_| {});
    later(5).await;
    bed.api.forget_requests();
    bed.api.remove(ANALYSES, "ns", "checkout");
    later(300).await;
    let writes = bed
        .api
        .writes()
        .into_iter()
        .filter(|write| write.resource.starts_with("rolloutanalyses"));
    assert!(writes.count() <= 1, "the write that finds it gone");
    assert_eq!(bed.source.asked().len(), 1);
    assert_eq!(bed.metric("streaming_operator_analyses{verdict=\"Measuring\"}"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_not_looked_at_where_the_operator_has_no_rights_on_them() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| {
        analysis["spec"]["target"]["kind"] = json!("Deployment");
    });
    later(60).await;
    assert_eq!(bed.condition("checkout", "Ready"), "False DeploymentTargetsOff");
    assert_eq!(bed.condition("checkout", "Stalled"), "True DeploymentTargetsOff");
    let asked = bed
        .api
        .requests()
        .into_iter()
        .filter(|request| request.resource == "deployments");
    assert_eq!(asked.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_spec_that_breaks_a_rule_says_so_and_keeps_the_gate_shut() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| analysis["spec"]["interval"] = json!("1s"));
    later(60).await;
    assert_eq!(bed.condition("checkout", "Ready"), "False InvalidSpec");
    bed.roll_out("image:2");
    later(120).await;
    assert_eq!(bed.images(), ["image:1", "image:1", "image:1", "image:2"]);
    bed.api.edit(ANALYSES, "ns", "checkout", |analysis| {
        analysis["spec"]["interval"] = json!("10s");
    });
    later(60).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
}
