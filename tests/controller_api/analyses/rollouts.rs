//! What analyses do to a rollout: they open its gate, and a regression ends it.

use serde_json::json;

use super::super::operator::{PIPELINES, condition, message, text};
use super::{ANALYSES, Bed, bad, good, later};

/// One canary of the new image beside three of the old one.
const CANARY: [&str; 4] = ["image:1", "image:1", "image:1", "image:2"];

#[tokio::test(start_paused = true)]
async fn the_gate_opens_when_the_analysis_has_passed_and_not_before() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(25).await;
    assert_eq!(bed.images(), CANARY);
    assert_eq!(bed.verdict("checkout"), "Measuring 0/1 Pass");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False AwaitingAnalysis");
    assert_eq!(message(&bed.api, "p", "Ready"), "analysis checkout has 1 of 2 passes");
    later(60).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Pass");
    assert_eq!(condition(&bed.api, "p", "Ready"), "True Ready");
    let query = bed.source.asked().pop().expect("a query");
    assert!(query.starts_with("lag{pod=~\"") && !query.contains("$("), "{query}");
}

#[tokio::test(start_paused = true)]
async fn a_regression_fails_the_revision_and_it_is_latched() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.source.answers(bad());
    bed.roll_out("image:2");
    later(100).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
    assert_eq!(bed.condition("checkout", "RolloutPaused"), "True RegressionDetected");
    let pipeline = bed.api.get(PIPELINES, "ns", "p").expect("the pipeline");
    let revision = text(&pipeline, "/status/updateRevision");
    assert_eq!(
        text(&pipeline, "/status/rollout/failedRevision/reason"),
        "AnalysisFailed"
    );
    let told = format!("metric regression detected: p99-latency = 0.31 > 0.25 (revision {revision})");
    let mut told = [
        format!("RolloutAnalysis RolloutPaused: {told}"),
        format!("StreamingPipeline RolloutPaused: analysis checkout: {told}"),
    ];
    told.sort();
    let mut events = bed.events(&["RolloutPaused"]);
    events.sort();
    assert_eq!(events, told);
    bed.source.answers(good());
    later(600).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Pass");
    assert_eq!(bed.images(), CANARY);
    assert_eq!(bed.events(&["RolloutPaused", "RolloutResumed"]).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_new_revision_begins_afresh_and_completes() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(100).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
    bed.source.answers(good());
    bed.roll_out("image:3");
    later(120).await;
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Pass");
    assert_eq!(bed.images(), ["image:3"; 4]);
    let resumed = bed.events(&["RolloutResumed"]);
    assert_eq!(
        resumed
            .iter()
            .filter(|told| told.starts_with("RolloutAnalysis"))
            .count(),
        1,
        "{resumed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_failed_is_measured_afresh_when_it_is_tried_again() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(100).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
    bed.source.answers(good());
    bed.roll_out("image:3");
    later(2).await;
    bed.roll_out("image:2");
    later(20).await;
    assert_ne!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
    later(120).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_resume_lets_the_same_revision_try_again_once() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(100).await;
    assert_eq!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
    bed.resume();
    later(10).await;
    assert_eq!(bed.verdict("checkout"), "Measuring 1/0 Fail");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False AwaitingAnalysis");
    later(120).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
    bed.source.answers(good());
    bed.resume();
    later(120).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_rollback_is_never_gated_and_leaves_the_failure() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(100).await;
    bed.roll_out("image:1");
    later(60).await;
    assert_eq!(bed.images(), ["image:1"; 4]);
    assert_eq!(bed.condition("checkout", "RolloutPaused"), "False AsExpected");
    bed.assert_verdict("checkout", "Measuring 0/0");
}

#[tokio::test(start_paused = true)]
async fn a_late_regression_holds_the_rollout_while_the_primary_set_is_being_replaced() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| analysis["spec"]["interval"] = json!("5s"));
    bed.edit(|pipeline| pipeline["spec"]["rollout"]["minReadySeconds"] = json!(30));
    later(120).await;
    bed.roll_out("image:2");
    // The canary is available after half a minute, the gate opens ten seconds later.
    later(50).await;
    bed.assert_verdict("checkout", "Passed");
    bed.source.answers(bad());
    later(30).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/2 Fail");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
    later(600).await;
    assert!(bed.images().contains(&"image:1".to_owned()), "{:?}", bed.images());
}

#[tokio::test(start_paused = true)]
async fn a_regression_while_nothing_rolls_out_shows_and_pauses_nothing() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |_| {});
    later(120).await;
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Pass");
    bed.source.answers(bad());
    later(120).await;
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Fail");
    assert_eq!(
        bed.condition("checkout", "RegressionDetected"),
        "True RegressionDetected"
    );
    assert_eq!(bed.condition("checkout", "RolloutPaused"), "False AsExpected");
    assert_eq!(condition(&bed.api, "p", "Ready"), "True Ready");
    assert_eq!(bed.events(&["RolloutPaused"]), Vec::<String>::new());
    assert_eq!(bed.events(&["RegressionDetected"]).len(), 2);
    bed.source.answers(good());
    later(60).await;
    assert_eq!(bed.condition("checkout", "RegressionDetected"), "False AsExpected");
}

#[tokio::test(start_paused = true)]
async fn of_two_analyses_both_must_pass_and_one_that_only_reports_holds_nothing() {
    let bed = Bed::new(good()).await;
    bed.analyse("fast", |_| {});
    bed.analyse("slow", |analysis| analysis["spec"]["requiredPasses"] = json!(6));
    bed.analyse("reports", |analysis| {
        analysis["spec"]["mode"] = json!("ReportOnly");
        analysis["spec"]["metrics"][0]["maxValue"] = json!(0.1);
    });
    later(240).await;
    bed.roll_out("image:2");
    later(70).await;
    bed.assert_verdict("fast", "Passed");
    assert_eq!(bed.images(), CANARY);
    assert_eq!(message(&bed.api, "p", "Ready"), "analysis slow has 3 of 6 passes");
    later(150).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
    assert_eq!(bed.events(&["RolloutPaused"]), Vec::<String>::new());
    bed.assert_verdict("reports", "Failed 3/");
}

#[tokio::test(start_paused = true)]
async fn an_edit_while_it_fails_keeps_what_was_counted_and_takes_the_new_limit() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(50).await;
    assert_eq!(bed.verdict("checkout"), "Measuring 2/0 Fail");
    bed.api.edit(ANALYSES, "ns", "checkout", |analysis| {
        analysis["spec"]["metrics"][0]["maxValue"] = json!(0.5);
    });
    later(90).await;
    bed.assert_verdict("checkout", "Passed 2/2");
    assert_eq!(bed.images(), ["image:2"; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_required_analysis_keeps_the_gate_shut_until_there_is_one() {
    let bed = Bed::new(good()).await;
    bed.edit(|pipeline| pipeline["spec"]["rollout"]["requireAnalysis"] = json!(true));
    bed.roll_out("image:2");
    later(120).await;
    assert_eq!(bed.images(), CANARY);
    assert_eq!(condition(&bed.api, "p", "Ready"), "False AwaitingAnalysis");
    bed.analyse("checkout", |_| {});
    later(90).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
}

#[tokio::test(start_paused = true)]
async fn an_analysis_that_is_deleted_has_no_say_any_more() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(50).await;
    assert_eq!(bed.images(), CANARY);
    bed.api.remove(ANALYSES, "ns", "checkout");
    later(60).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
}
