//! How often a status is written in a rollout, and that what waits is written all the same.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_api::FakeApi;
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, pipeline, running, settle, text};

/// Three Pods of the first image that are Ready, and an edit to the second; from then on no kubelet does anything.
async fn in_mid_rollout(api: &FakeApi) {
    let life = kubelet(api);
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(api).await;
    drop(life);
    api.edit(PIPELINES, "ns", "p", |pipeline| {
        pipeline["spec"]["image_name"] = json!("image:2");
    });
    sleep(Duration::from_millis(500)).await;
    assert_eq!(ending(api), json!(1), "the first step");
    api.forget_requests();
}

/// `status.terminatingReplicas`.
fn ending(api: &FakeApi) -> Value {
    api.get(PIPELINES, "ns", "p").expect("a pipeline")["status"]["terminatingReplicas"].clone()
}

fn status_writes(api: &FakeApi) -> usize {
    let writes = api.writes().into_iter();
    writes
        .filter(|write| write.resource == "streamingpipelines/status")
        .count()
}

/// The kubelet ends the Pod that is being deleted.
fn end_the_old_pod(api: &FakeApi) {
    let pods = api.list("pods");
    let is_ending = |pod: &&Value| pod.pointer("/metadata/deletionTimestamp").is_some();
    let pod = pods.values().find(is_ending).expect("one is being deleted");
    api.remove("pods", "ns", &text(pod, "/metadata/name"));
}

/// The kubelet starts the Pod that was made.
fn start_the_new_pod(api: &FakeApi) {
    let pods = api.list("pods");
    let is_new = |pod: &&Value| pod.pointer("/status/phase").is_none();
    let pod = pods.values().find(is_new).expect("one was made");
    let now = api.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    api.edit("pods", "ns", &text(pod, "/metadata/name"), |pod| {
        pod["status"] = running(&now);
    });
}

#[tokio::test(start_paused = true)]
async fn that_an_old_pod_has_ended_is_written_within_a_second_though_nothing_else_happens() {
    let api = FakeApi::new();
    let _operator = Operator::start(&api, "operator", &Mode::default());
    in_mid_rollout(&api).await;
    end_the_old_pod(&api);
    sleep(Duration::from_millis(900)).await;
    assert_eq!((status_writes(&api), ending(&api)), (0, json!(1)));
    sleep(Duration::from_millis(200)).await;
    assert_eq!((status_writes(&api), ending(&api)), (1, json!(0)));
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_successor_is_ready_soon_costs_one_status_write() {
    let api = FakeApi::new();
    let _operator = Operator::start(&api, "operator", &Mode::default());
    in_mid_rollout(&api).await;
    end_the_old_pod(&api);
    sleep(Duration::from_millis(500)).await;
    start_the_new_pod(&api);
    sleep(Duration::from_millis(500)).await;
    assert_eq!((status_writes(&api), ending(&api)), (1, json!(1)), "the second step");
}

#[tokio::test(start_paused = true)]
async fn the_next_leader_writes_what_the_last_one_held_back() {
    let api = FakeApi::new();
    let operator = Operator::start(&api, "operator", &Mode::default());
    in_mid_rollout(&api).await;
    end_the_old_pod(&api);
    sleep(Duration::from_millis(500)).await;
    drop(operator);
    assert_eq!(ending(&api), json!(1));
    let _operator = Operator::start(&api, "next", &Mode::default());
    sleep(Duration::from_secs(2)).await;
    assert_eq!(ending(&api), json!(0));
    let _kubelet = kubelet(&api);
    settle(&api).await;
    assert_eq!(
        (condition(&api, "p", "Ready"), ending(&api)),
        ("True Ready".to_owned(), json!(0))
    );
}
