//! A Deployment is held, and let go, by whom and for what.

use super::bed::{BAD, Bed, GOOD, condition, manager};

#[tokio::test(flavor = "multi_thread")]
async fn a_regression_holds_the_rollout_and_a_fixed_template_goes_through() {
    let bed = Bed::start("held").await;
    let uid = bed.analyse("guard").await;
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    let analysis = bed
        .until_condition("guard", "RolloutPaused", "True/RegressionDetected")
        .await;
    let web = bed.until_paused_by(&[&manager(&uid)]).await;
    assert_ne!(web["status"]["updatedReplicas"], 8, "it is held on its way");
    let revision = analysis["status"]["targetRevision"].as_str().unwrap();
    assert_eq!(revision.len(), 64);
    let short = &revision[..10];
    let told = format!("metric regression detected: errors = 0.31 > 0.25 (revision {short})");
    assert_eq!(bed.events("RolloutAnalysis", "RolloutPaused").await, [told.as_str()]);
    assert_eq!(
        bed.events("Deployment", "RolloutPaused").await,
        [format!("analysis guard: {told}")]
    );

    bed.source.set(GOOD);
    bed.roll_out("image:3").await;
    bed.until_paused_by(&[]).await;
    bed.until_rolled_out("image:3").await;
    let analysis = bed.until_condition("guard", "Ready", "True/Passed").await;
    assert_eq!(condition(&analysis, "RolloutPaused"), "False/AsExpected");
    assert_eq!(analysis["status"]["failures"], 0);
    assert_eq!(bed.events("Deployment", "RolloutResumed").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_resumes_is_not_undone_and_the_next_template_is_guarded_again() {
    let bed = Bed::start("resumed").await;
    let uid = bed.analyse("guard").await;
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    bed.until_paused_by(&[&manager(&uid)]).await;
    bed.until_condition("guard", "RolloutPaused", "True/RegressionDetected")
        .await;
    bed.kubectl(&["rollout", "resume", "deployment/web"]).await;
    bed.until_condition("guard", "RolloutPaused", "False/ResumedByUser")
        .await;
    // It fails again, for the metric is as bad as ever, and the rollout ends all the same.
    bed.until_rolled_out("image:2").await;
    bed.roll_out("image:3").await;
    bed.until_paused_by(&[&manager(&uid)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_pause_beside_ours_stays_when_ours_goes() {
    let bed = Bed::start("beside").await;
    let uid = bed.analyse("guard").await;
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    // Before the first Pod of the new template has been available for long enough to be measured.
    bed.until("the rollout to begin", "deployment", "web", |web| {
        web["status"]["updatedReplicas"] == 1
    })
    .await;
    bed.kubectl(&["rollout", "pause", "deployment/web"]).await;
    bed.until_paused_by(&["kubectl-rollout", &manager(&uid)]).await;
    bed.kubectl(&["delete", "ra", "guard"]).await;
    let web = bed.until_paused_by(&["kubectl-rollout"]).await;
    assert_eq!(web["spec"]["paused"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_analyses_hold_it_until_both_let_go() {
    let bed = Bed::start("two").await;
    let (first, second) = (bed.analyse("first").await, bed.analyse("second").await);
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    bed.until_paused_by(&[&manager(&first), &manager(&second)]).await;
    bed.kubectl(&["delete", "ra", "first"]).await;
    let web = bed.until_paused_by(&[&manager(&second)]).await;
    assert_eq!(web["spec"]["paused"], true);
    let report = r#"{"spec":{"mode":"ReportOnly"}}"#;
    bed.kubectl(&["patch", "ra", "second", "--type=merge", "--patch", report])
        .await;
    bed.until_paused_by(&[]).await;
    bed.until_rolled_out("image:2").await;
}
