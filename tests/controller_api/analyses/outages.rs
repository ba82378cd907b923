//! An outage of the metrics source is no regression, at whatever stage it comes.

use std::time::Duration;

use serde_json::json;

use super::super::operator::{condition, message, text};
use super::{ANALYSES, Answer, Bed, bad, good, later};

const CANARY: [&str; 4] = ["image:1", "image:1", "image:1", "image:2"];
const PAUSES: [&str; 2] = ["RolloutPaused", "RegressionDetected"];

#[tokio::test(start_paused = true)]
async fn before_the_first_answer_the_gate_stays_shut_and_nothing_fails() {
    let bed = Bed::new(Answer::Down).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(600).await;
    assert_eq!(bed.images(), CANARY);
    assert_eq!(bed.verdict("checkout"), "Unavailable 0/0 Error");
    assert_eq!(
        bed.condition("checkout", "MetricsUnavailable"),
        "True MetricsUnavailable"
    );
    assert_eq!(bed.condition("checkout", "Ready"), "False MetricsUnavailable");
    assert_eq!(bed.condition("checkout", "Stalled"), "False AsExpected");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False AwaitingAnalysis");
    let said = message(&bed.api, "p", "Ready");
    assert!(
        said.starts_with("analysis checkout has 0 of 2 passes; metrics unavailable since 2026-01-01T00:0"),
        "{said}"
    );
    assert_eq!(bed.events(&PAUSES), Vec::<String>::new());
    assert_eq!(bed.events(&["MetricsUnavailable"]).len(), 1);
    bed.source.answers(good());
    later(90).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
    assert_eq!(
        bed.condition("checkout", "MetricsUnavailable"),
        "False MetricsAvailable"
    );
}

#[tokio::test(start_paused = true)]
async fn between_failures_it_counts_nothing() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(50).await;
    assert_eq!(bed.verdict("checkout"), "Measuring 2/0 Fail");
    bed.source.answers(Answer::Down);
    later(600).await;
    assert_eq!(bed.verdict("checkout"), "Unavailable 2/0 Error");
    assert_eq!(bed.events(&["RolloutPaused"]), Vec::<String>::new());
    bed.source.answers(good());
    later(90).await;
    bed.assert_verdict("checkout", "Passed 2/2");
}

#[tokio::test(start_paused = true)]
async fn once_the_gate_is_open_the_primary_update_goes_on() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| analysis["spec"]["interval"] = json!("5s"));
    bed.edit(|pipeline| pipeline["spec"]["rollout"]["minReadySeconds"] = json!(30));
    later(120).await;
    bed.roll_out("image:2");
    later(50).await;
    bed.assert_verdict("checkout", "Passed");
    assert!(bed.images().contains(&"image:1".to_owned()));
    bed.source.answers(Answer::Down);
    later(300).await;
    assert_eq!(bed.images(), ["image:2"; 4]);
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Error");
    assert_eq!(bed.events(&PAUSES), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_latched_failure_outlasts_it() {
    let bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(100).await;
    bed.source.answers(Answer::Down);
    later(300).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Error");
    assert_eq!(bed.condition("checkout", "RolloutPaused"), "True RegressionDetected");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_flaps_is_asked_again_and_its_answers_count() {
    let bed = Bed::new(Answer::Flaps(0.2)).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(90).await;
    bed.assert_verdict("checkout", "Passed 0/2 Pass");
    assert_eq!(bed.images(), ["image:2"; 4]);
    assert_eq!(bed.events(&["MetricsUnavailable"]), Vec::<String>::new());
    let (retries, made) = (
        bed.metric("streaming_operator_analysis_retries_total"),
        bed.metric("streaming_operator_analysis_measurements_total{outcome=\"pass\"}"),
    );
    assert!(retries >= 4 && made >= 4, "{retries} {made}");
    assert_eq!(
        bed.metric("streaming_operator_analysis_measurements_total{outcome=\"error\"}"),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn attempts_back_off_within_the_interval_and_the_next_measurement_comes_all_the_same() {
    let bed = Bed::new(Answer::Down).await;
    bed.analyse("checkout", |_| {});
    later(300).await;
    let asked = bed.source.asked().len();
    later(300).await;
    // Five attempts at 0, 1, 3, 7 and 15 s of each of the ten measurements.
    let more = bed.source.asked().len() - asked;
    assert!((48..=52).contains(&more), "{more}");
}

#[tokio::test(start_paused = true)]
async fn a_query_that_is_refused_is_asked_once_an_interval_and_needs_a_person() {
    let bed = Bed::new(Answer::Rejects).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(300).await;
    assert_eq!(bed.images(), CANARY);
    assert_eq!(bed.verdict("checkout"), "Unavailable 0/0 Error");
    assert_eq!(bed.condition("checkout", "Ready"), "False QueryRejected");
    assert_eq!(bed.condition("checkout", "Stalled"), "True QueryRejected");
    assert_eq!(bed.metric("streaming_operator_analysis_retries_total"), 0);
    assert_eq!(bed.events(&PAUSES), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_not_configured_stalls_the_analysis_and_fails_nothing() {
    let bed = Bed::new(Answer::Unknown).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    assert_eq!(bed.condition("checkout", "Ready"), "False UnknownSource");
    assert_eq!(bed.condition("checkout", "Stalled"), "True UnknownSource");
    assert_eq!(bed.condition("checkout", "MetricsUnavailable"), "Unknown UnknownSource");
    assert_eq!(bed.verdict("checkout"), "Unavailable 0/0 Error");
}

#[tokio::test(start_paused = true)]
async fn an_empty_result_and_nan_are_no_data_and_keep_the_gate_shut() {
    for answer in [Answer::Values(vec![]), Answer::Values(vec![f64::NAN])] {
        let bed = Bed::new(answer).await;
        bed.analyse("checkout", |_| {});
        later(70).await;
        bed.roll_out("image:2");
        later(300).await;
        assert_eq!(bed.images(), CANARY);
        assert_eq!(bed.verdict("checkout"), "Measuring 0/0 NoData");
        assert_eq!(bed.condition("checkout", "Ready"), "False NoData");
        assert_eq!(bed.events(&PAUSES), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn missing_data_fails_or_passes_where_the_spec_says_so() {
    let bed = Bed::new(Answer::Values(vec![])).await;
    bed.analyse("fails", |analysis| analysis["spec"]["onNoData"] = json!("Fail"));
    later(70).await;
    bed.roll_out("image:2");
    later(300).await;
    assert_eq!(bed.verdict("fails"), "Failed 3/0 NoData");
    let bed = Bed::new(Answer::Values(vec![])).await;
    bed.analyse("passes", |analysis| analysis["spec"]["onNoData"] = json!("Continue"));
    later(70).await;
    bed.roll_out("image:2");
    later(300).await;
    assert_eq!(bed.verdict("passes"), "Passed 0/2 NoData");
    assert_eq!(bed.images(), ["image:2"; 4]);
}

#[tokio::test(start_paused = true)]
async fn infinities_are_values_and_of_several_series_the_worst_counts_and_is_shown() {
    for (values, shown) in [
        (vec![f64::INFINITY], "+Inf"),
        (vec![0.1, 0.2, 0.7, 0.3], "0.7"),
        (vec![f64::NEG_INFINITY, 0.4], "0.4"),
    ] {
        let bed = Bed::new(Answer::Values(values)).await;
        bed.analyse("checkout", |_| {});
        later(70).await;
        bed.roll_out("image:2");
        later(100).await;
        assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
        let analysis = bed.api.get(ANALYSES, "ns", "checkout").expect("the analysis");
        assert_eq!(text(&analysis, "/status/value"), shown);
        assert_eq!(text(&analysis, "/status/limit"), "<= 0.25");
    }
    let bed = Bed::new(Answer::Values(vec![f64::NEG_INFINITY])).await;
    bed.analyse("checkout", |_| {});
    later(100).await;
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Pass");
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_counts_within_its_time_and_is_an_outage_beyond() {
    let bed = Bed::new(Answer::Slow(Duration::from_secs(10), 0.2)).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Pass");
    bed.source.answers(Answer::Slow(Duration::from_secs(100), 0.31));
    later(120).await;
    assert_eq!(bed.verdict("checkout"), "Passed 0/2 Error");
    assert_eq!(
        bed.condition("checkout", "MetricsUnavailable"),
        "True MetricsUnavailable"
    );
}
