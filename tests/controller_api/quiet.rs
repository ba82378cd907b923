//! An hour in which nothing differs: lists that are read again, another leader, a restart, and not one write.

use std::time::Duration;

use serde_json::json;
use testkit::fake_api::FakeApi;
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, pipeline, settle};

#[tokio::test(start_paused = true)]
async fn an_hour_of_relists_new_leaders_and_restarts_writes_nothing() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let mut operator = Operator::start(&api, "0", &Mode::default());
    for name in ["plain", "paused", "suspended", "broken"] {
        api.put(PIPELINES, pipeline(name, 3, "image:1"));
    }
    settle(&api).await;
    api.edit(PIPELINES, "ns", "paused", |pipeline| {
        pipeline["spec"]["rollout"] = json!({"paused": true});
        pipeline["spec"]["image_name"] = json!("image:2");
    });
    api.edit(PIPELINES, "ns", "suspended", |pipeline| {
        pipeline["spec"]["suspend"] = json!(true);
    });
    api.edit(PIPELINES, "ns", "broken", |pipeline| {
        pipeline["spec"]["segment_id"] = json!(7);
    });
    settle(&api).await;
    let told = ["plain", "paused", "suspended", "broken"].map(|name| condition(&api, name, "Ready"));
    assert_eq!(
        told,
        [
            "True Ready",
            "False RolloutPaused",
            "True Suspended",
            "False RenderFailed"
        ]
    );
    api.forget_requests();
    for five_minutes in 1..=12 {
        // Every watch is answered with 410 Gone, and everything is listed again.
        api.compact();
        sleep(Duration::from_secs(150)).await;
        if five_minutes % 4 == 0 {
            // The next leader begins where this one stands.
            drop(operator);
            operator = Operator::start(&api, &five_minutes.to_string(), &Mode::default());
        }
        sleep(Duration::from_secs(150)).await;
    }
    assert_eq!(api.writes(), []);
    let lists = api.requests().iter().filter(|request| request.verb == "list").count();
    assert!(lists > 12, "{lists} lists: the test relists nothing");
}
