//! Many pipelines share one API server: a bound on writes in flight, turns, small first batches, and a crash loop that
//! costs what its back-off says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_api::{FakeApi, Fault, Request};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::is_pod_create;
use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, message, pipeline, pods, text};

/// When creates of Pods came, and of whose.
type Creates = Arc<Mutex<Vec<(Instant, String)>>>;

/// Each Pod write takes `by`, as on a slow API server.
fn slow(api: &FakeApi, by: Duration) -> Creates {
    let creates = Creates::default();
    let noted = Arc::clone(&creates);
    api.on_request(move |request| {
        if is_pod_create(request) {
            noted.lock().expect("no panic").push((Instant::now(), owner(request)));
        }
        let is_pod_write = request.is_write() && request.resource == "pods" && !request.dry_run;
        if is_pod_write { Fault::Delayed(by) } else { Fault::None }
    });
    creates
}

fn owner(request: &Request) -> String {
    text(&request.body, "/metadata/annotations/streams.sentry.io~1owner-name")
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn no_more_pod_writes_are_in_flight_than_is_allowed_over_all_pipelines() {
    let api = FakeApi::new();
    let creates = slow(&api, SECOND);
    for name in ["a", "b", "c"] {
        api.put(PIPELINES, pipeline(name, 40, "image:1"));
    }
    let mode = Mode {
        pod_writes: Some(8),
        ..Mode::default()
    };
    let _operator = Operator::start(&api, "operator", &mode);
    sleep(Duration::from_secs(60)).await;
    let times: Vec<Instant> = creates.lock().expect("no panic").iter().map(|(at, _)| *at).collect();
    assert_eq!(times.len(), 120);
    // Each is in flight for a second.
    let in_flight = |from: &Instant| times.iter().filter(|at| **at >= *from && **at < *from + SECOND).count();
    let most = times.iter().map(in_flight).max();
    assert_eq!(most, Some(8), "as many as are allowed, and no more");
}

#[tokio::test(start_paused = true)]
async fn a_small_pipeline_does_not_wait_for_the_end_of_large_ones() {
    let api = FakeApi::new();
    let creates = slow(&api, SECOND);
    for name in ["large-1", "large-2", "large-3"] {
        api.put(PIPELINES, pipeline(name, 100, "image:1"));
    }
    let mode = Mode {
        pod_writes: Some(8),
        ..Mode::default()
    };
    let _operator = Operator::start(&api, "operator", &mode);
    sleep(Duration::from_secs(10)).await;
    let asked = Instant::now();
    api.put(PIPELINES, pipeline("small", 2, "image:1"));
    sleep(Duration::from_secs(100)).await;
    let creates = creates.lock().expect("no panic");
    let small = creates
        .iter()
        .filter(|(_, owner)| owner == "small")
        .map(|(at, _)| *at - asked);
    let waits: Vec<u64> = small.map(|wait| wait.as_secs()).collect();
    // Three hundred Pods take 38 seconds. Before each of its two batches it waits at most for one of each of the others.
    assert!(waits.len() == 2 && waits.iter().all(|wait| *wait <= 16), "{waits:?}");
    assert_eq!(creates.len(), 302);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_met_by_a_small_batch_and_not_by_every_pod() {
    let api = FakeApi::new();
    let mut made = 0;
    api.on_request(move |request| {
        if !is_pod_create(request) {
            return Fault::None;
        }
        made += 1;
        if made <= 3 {
            return Fault::None;
        }
        Fault::Refused(403, "Forbidden", "exceeded quota: few".to_owned())
    });
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 100, "image:1"));
    sleep(Duration::from_secs(5)).await;
    // 1, 2, and the 4 of which none could be made.
    let tries = || api.writes().into_iter().filter(is_pod_create).count();
    assert_eq!(tries(), 7);
    assert!(message(&api, "p", "Applied").contains("exceeded quota: few"));
    sleep(Duration::from_secs(9)).await;
    assert_eq!(tries(), 8, "after ten seconds one is tried again");
}

/// Plays the kubelet for the Pods of some pipelines: each ends a second after it was made.
fn crashes(api: &FakeApi, prefix: &'static str) -> JoinSet<()> {
    let api = api.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            api.changed().await;
            sleep(SECOND).await;
            let now = api.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            for pod in api.list("pods").into_values() {
                let owner = text(&pod, "/metadata/annotations/streams.sentry.io~1owner-name");
                let is_new = pod.pointer("/status/phase").and_then(Value::as_str) != Some("Failed");
                if owner.starts_with(prefix) && is_new {
                    let name = text(&pod, "/metadata/name");
                    api.edit("pods", "ns", &name, |pod| pod["status"] = crashed(&now));
                }
            }
        }
    });
    tasks
}

fn crashed(now: &str) -> Value {
    json!({
        "phase": "Failed", "startTime": now,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        "containerStatuses": [{
            "name": "pipeline-consumer", "ready": false, "started": false, "restartCount": 0, "image": "i", "imageID": "i",
            "state": {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}},
        }],
    })
}

#[tokio::test(start_paused = true)]
async fn a_crash_loop_costs_no_more_than_its_back_off_and_slows_no_other() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _crashes = crashes(&api, "crashing");
    let _operator = Operator::start(&api, "operator", &Mode::default());
    for n in 0..10 {
        api.put(PIPELINES, pipeline(&format!("crashing-{n}"), 1, "image:1"));
    }
    sleep(Duration::from_secs(3600)).await;
    let of_one = |request: &Request| {
        let about = text(&request.body, "/regarding/name");
        request.name.contains("crashing-0") || owner(request) == "crashing-0" || about == "crashing-0"
    };
    let writes: Vec<Request> = api.writes().into_iter().filter(of_one).collect();
    let creates = writes.iter().filter(|write| is_pod_create(write)).count();
    // At once, at once, and after 10, 20, 40, 80, 160 and then every 300 seconds: at 0, 1, 12, 33, 74, 155, 316, 617, …
    assert!((16..=18).contains(&creates), "{creates} Pods in an hour");
    // A create, a delete, an Event, and what the status says before, during and after.
    assert!(
        writes.len() <= creates * 8,
        "{} writes for {creates} Pods",
        writes.len()
    );
    let said = message(&api, "crashing-0", "Ready");
    assert!(said.contains("Error"), "{said}");

    // Beside them another pipeline is there as soon as alone.
    api.put(PIPELINES, pipeline("steady", 3, "image:9"));
    sleep(Duration::from_secs(3)).await;
    assert_eq!(condition(&api, "steady", "Ready"), "True Ready");
    let steady = pods(&api).into_iter().filter(|pod| pod.ends_with("image:9"));
    assert_eq!(steady.count(), 3);
}
