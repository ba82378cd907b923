//! Whoever goes takes no Deployment along: an analysis that holds, the operator, the target itself.

use super::bed::{BAD, Bed, manager};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_while_the_operator_is_away_holds_nothing_once_it_is_back() {
    let mut bed = Bed::start("away").await;
    let uid = bed.analyse("guard").await;
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    bed.until_paused_by(&[&manager(&uid)]).await;
    bed.operator_ends().await;
    bed.kubectl(&["delete", "ra", "guard"]).await;
    bed.until_paused_by(&[&manager(&uid)]).await;
    bed.operator_starts().await;
    bed.until_paused_by(&[]).await;
    bed.until_rolled_out("image:2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_holds_on_to_what_was_held() {
    let mut bed = Bed::start("restart").await;
    let uid = bed.analyse("guard").await;
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    let before = bed
        .until_condition("guard", "RolloutPaused", "True/RegressionDetected")
        .await;
    bed.operator_ends().await;
    bed.operator_starts().await;
    let written =
        |analysis: &serde_json::Value| analysis["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"];
    let after = bed.until("guard to be looked at", "ra", "guard", written).await;
    assert_eq!(after["status"]["failures"], 1);
    assert_eq!(after["status"]["verdict"], "Failed");
    bed.until_paused_by(&[&manager(&uid)]).await;
    assert_eq!(bed.events("RolloutAnalysis", "RolloutPaused").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_deleted_while_held_is_missing_and_not_made_again() {
    let bed = Bed::start("target").await;
    let uid = bed.analyse("guard").await;
    bed.source.set(BAD);
    bed.roll_out("image:2").await;
    bed.until_paused_by(&[&manager(&uid)]).await;
    bed.kubectl(&["delete", "deployment", "web"]).await;
    let analysis = bed.until_condition("guard", "TargetFound", "False/TargetMissing").await;
    assert_eq!(analysis["status"].get("held"), None);
    assert_eq!(bed.kubectl(&["get", "deployments", "--output=name"]).await, "");
    bed.kubectl(&["delete", "ra", "guard"]).await;
    assert_eq!(bed.kubectl(&["get", "deployments", "--output=name"]).await, "");
}
