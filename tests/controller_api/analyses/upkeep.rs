//! What outlasts a restart, and how little is written.

use serde_json::json;

use super::super::operator::{condition, text};
use super::{ANALYSES, Bed, bad, good, later};

fn status_writes(bed: &Bed) -> usize {
    let writes = bed.api.writes().into_iter();
    writes
        .filter(|write| write.resource == "rolloutanalyses/status")
        .count()
}

#[tokio::test(start_paused = true)]
async fn another_leader_goes_on_from_what_was_counted() {
    let mut bed = Bed::new(bad()).await;
    bed.analyse("checkout", |_| {});
    later(70).await;
    bed.roll_out("image:2");
    later(50).await;
    assert_eq!(bed.verdict("checkout"), "Measuring 2/0 Fail");
    bed.another_leads();
    later(40).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Fail");
    assert_eq!(condition(&bed.api, "p", "Ready"), "False RolloutFailed");
    bed.source.answers(good());
    bed.another_leads();
    later(600).await;
    assert_eq!(bed.verdict("checkout"), "Failed 3/0 Pass");
}

#[tokio::test(start_paused = true)]
async fn a_measurement_that_is_overdue_is_made_once_and_one_that_is_not_waits_for_its_time() {
    let mut bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| {
        analysis["spec"]["interval"] = json!("1h");
        analysis["spec"]["requiredPasses"] = json!(100);
    });
    later(10).await;
    assert_eq!(bed.source.asked().len(), 1);
    bed.another_leads();
    later(600).await;
    assert_eq!(bed.source.asked().len(), 1, "not due yet");
    bed.nobody_leads();
    later(5 * 3600).await;
    bed.another_leads();
    later(60).await;
    assert_eq!(bed.source.asked().len(), 2, "five were due");
    later(3600).await;
    assert_eq!(bed.source.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn while_nothing_changes_but_values_the_status_is_written_every_five_minutes() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |_| {});
    later(300).await;
    bed.api.forget_requests();
    for turn in 0_u32..120 {
        bed.source
            .answers(super::Answer::Values(vec![0.1 + f64::from(turn) / 1000.0]));
        later(30).await;
    }
    let writes = status_writes(&bed);
    assert!((11..=13).contains(&writes), "{writes} in an hour");
    let others: Vec<_> = bed
        .api
        .writes()
        .into_iter()
        .filter(|write| !write.resource.starts_with("rolloutanalyses"))
        .collect();
    assert_eq!(others, []);
    let analysis = bed.api.get(ANALYSES, "ns", "checkout").expect("the analysis");
    let kept = analysis["status"]["measurements"].as_array().map(Vec::len);
    assert_eq!(kept, Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_status_that_somebody_wrote_in_between_is_written_again_and_not_lost() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| analysis["spec"]["requiredPasses"] = json!(1000));
    later(40).await;
    bed.api.edit(ANALYSES, "ns", "checkout", |analysis| {
        analysis["status"] = json!({"passes": 99});
    });
    later(60).await;
    let analysis = bed.api.get(ANALYSES, "ns", "checkout").expect("the analysis");
    let passes = analysis["status"]["passes"].as_i64().unwrap_or_default();
    assert!((3..=5).contains(&passes), "{passes}");
    assert_eq!(text(&analysis, "/status/verdict"), "Measuring");
}

#[tokio::test(start_paused = true)]
async fn the_first_measurement_waits_for_the_initial_delay() {
    let bed = Bed::new(good()).await;
    bed.analyse("checkout", |analysis| analysis["spec"]["initialDelay"] = json!("2m"));
    later(110).await;
    assert_eq!(bed.source.asked().len(), 0);
    assert_eq!(bed.condition("checkout", "Ready"), "True AwaitingRollout");
    later(20).await;
    assert_eq!(bed.source.asked().len(), 1);
}
