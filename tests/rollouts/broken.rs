//! Forty consumers, and an image that cannot be pulled.

use serde_json::json;
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, image, pipeline};
use super::pods::{Pods, is_ready};

const REPLICAS: u16 = 40;
/// 25% of them may be unavailable.
const FLOOR: usize = 30;

/// Both pipelines run, and the witness has seen it.
async fn running(bed: &Bed) -> Pods {
    let pods = Pods::watch(&bed.admin, &bed.namespace);
    bed.apply(&[pipeline(&bed.namespace, "p", REPLICAS)]).await;
    bed.until_ready("p").await;
    let look = async || {
        let ready = pods.now().iter().filter(|pod| is_ready(pod)).count();
        Ok(Seen::when(ready, |ready| *ready == usize::from(REPLICAS)))
    };
    wait::until("the witness to see all Pods", SOON, look).await.unwrap();
    pods.fewest_ready("p");
    pods
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_image_takes_the_budget_and_no_more_until_the_deadline_and_the_fix() {
    let bed = Bed::start("broken-fixed", &[]).await;
    let pods = running(&bed).await;
    bed.edit(
        "p",
        json!({"spec": {
            "image_name": "registry.example/consumer:bad", "rollout": {"progressDeadlineSeconds": 6},
        }}),
    )
    .await;
    let late = bed.until("p", "Progressing", "False/ProgressDeadlineExceeded").await;
    assert!(
        late["status"]["updatedReplicas"].as_u64() > Some(0),
        "the rollout began"
    );
    bed.edit("p", image("2")).await;
    bed.until_ready("p").await;
    let fewest = pods.fewest_ready("p");
    println!("broken image, then a fix: {fewest} of {REPLICAS} Pods available at the least, {FLOOR} asked for");
    assert!(fewest >= FLOOR, "{fewest} Pods were available");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_image_is_rolled_back_by_itself_within_the_budget() {
    let bed = Bed::start("broken-rolled-back", &[]).await;
    let pods = running(&bed).await;
    bed.edit(
        "p",
        json!({"spec": {
            "image_name": "registry.example/consumer:bad",
            "rollout": {"progressDeadlineSeconds": 6, "onFailure": "Rollback"},
        }}),
    )
    .await;
    bed.until("p", "Ready", "False/RolledBack").await;
    bed.until_number("p", "availableReplicas", i64::from(REPLICAS)).await;
    let fewest = pods.fewest_ready("p");
    println!("broken image, rolled back: {fewest} of {REPLICAS} Pods available at the least, {FLOOR} asked for");
    assert!(fewest >= FLOOR, "{fewest} Pods were available");
    let back = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("registry.example/consumer:1")
    };
    assert!(pods.now().iter().filter(|pod| is_ready(pod)).all(back));
}
