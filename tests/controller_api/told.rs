//! What Events tell of a rollout, by whichever operator sees its end.

use std::time::Duration;

use serde_json::json;
use testkit::fake_api::FakeApi;
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, pipeline, settle, text};

/// `reason note` of each Event about a rollout, sorted; revisions are cut off.
fn told(api: &FakeApi) -> Vec<String> {
    let events = api.list("events.k8s.io/events").into_values();
    let told = events.map(|event| format!("{} {}", text(&event, "/reason"), text(&event, "/note")));
    let rollouts = told.filter(|told| told.starts_with("Rollout"));
    let mut told: Vec<String> = rollouts
        .map(|told| told.split(" revision").next().unwrap_or_default().to_owned())
        .collect();
    told.sort();
    told
}

fn edit_to(api: &FakeApi, image: &str) {
    api.edit(PIPELINES, "ns", "p", |pipeline| {
        pipeline["spec"]["image_name"] = json!(image);
    });
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_rollback_by_hand_is_told_by_the_next_operator() {
    let api = FakeApi::new();
    let life = kubelet(&api);
    let operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 2, "image:1"));
    settle(&api).await;
    drop(life);
    edit_to(&api, "image:2");
    sleep(Duration::from_secs(2)).await;
    edit_to(&api, "image:1");
    sleep(Duration::from_secs(2)).await;
    drop(operator);
    let before = told(&api);
    let _operator = Operator::start(&api, "next", &Mode::default());
    let _kubelet = kubelet(&api);
    settle(&api).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    assert_eq!(
        before,
        [
            "RolloutCompleted all 2 Pods are of",
            "RolloutStarted",
            "RolloutStarted",
            "RolloutStarted back to"
        ]
    );
    assert_eq!(
        told(&api),
        [
            "RolloutCompleted all 2 Pods are of",
            "RolloutCompleted all 2 Pods are of",
            "RolloutStarted",
            "RolloutStarted",
            "RolloutStarted back to"
        ]
    );
}
