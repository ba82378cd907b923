//! Pods of pipelines that are gone: removed in the second sweep, and never on silence.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_api::{FakeApi, Fault};
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, pipeline, text};

const CRDS: &str = "apiextensions.k8s.io/customresourcedefinitions";
const WORK: &str = "work";

fn in_work() -> Mode {
    Mode {
        workload_namespace: Some(WORK),
        ..Mode::default()
    }
}

/// A server with an Established CRD and a pipeline whose Pods run in another namespace.
async fn cluster(replicas: u16) -> (FakeApi, impl Sized) {
    let api = FakeApi::new();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "streamingpipelines.streams.sentry.io"},
        "spec": {"group": "streams.sentry.io", "scope": "Namespaced", "versions": [],
                 "names": {"kind": "StreamingPipeline", "plural": "streamingpipelines"}},
        "status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": [],
                   "acceptedNames": {"kind": "StreamingPipeline", "plural": "streamingpipelines"}},
    });
    api.put(CRDS, crd);
    let kubelet = kubelet(&api);
    api.put(PIPELINES, pipeline("p", replicas, "image:1"));
    let operator = Operator::start(&api, "operator", &in_work());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    (api, (kubelet, operator))
}

fn stray(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": WORK,
            "labels": {"streams.sentry.io/managed-by": "streaming-operator", "streams.sentry.io/owner-uid": "long-gone"},
            "annotations": {
                "streams.sentry.io/owner-name": "gone", "streams.sentry.io/owner-namespace": "ns",
            },
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

fn is_there(api: &FakeApi, name: &str) -> bool {
    api.get("pods", WORK, name).is_some()
}

/// `reason note` of the Events about orphans.
fn told(api: &FakeApi) -> Vec<String> {
    let events = api.list("events.k8s.io/events").into_values();
    let told = events.map(|event| format!("{} {}", text(&event, "/reason"), text(&event, "/note")));
    told.filter(|told| told.starts_with("Orphan")).collect()
}

/// Beyond three sweeps.
const LONG: Duration = Duration::from_secs(1000);

#[tokio::test(start_paused = true)]
async fn a_pod_whose_pipeline_is_gone_is_removed_when_it_was_gone_five_minutes_before() {
    let (api, _running) = cluster(12).await;
    api.put("pods", stray("gone-0-0"));
    // Sweeps are at 0, 300 and 600 seconds of the term; the Pod came after the first.
    sleep(Duration::from_secs(500)).await;
    assert!(is_there(&api, "gone-0-0"), "found once");
    sleep(Duration::from_secs(100)).await;
    assert!(!is_there(&api, "gone-0-0"), "found twice");
    assert_eq!(api.list("pods").len(), 12);
    assert_eq!(
        told(&api),
        ["OrphanRemoved Removed Pod work/gone-0-0: its pipeline ns/gone (uid long-gone) is gone"]
    );
    let delete = api.writes().into_iter().find(|write| write.name == "gone-0-0");
    assert!(delete.is_some_and(|delete| delete.body["preconditions"]["uid"].is_string()));
}

#[tokio::test(start_paused = true)]
async fn a_config_map_goes_too_and_one_of_a_living_pipeline_stays() {
    let (api, _running) = cluster(12).await;
    let mut left = stray("gone-0123456789");
    left["kind"] = json!("ConfigMap");
    api.put("configmaps", left);
    let before = api.list("configmaps").len();
    sleep(LONG).await;
    assert!(api.get("configmaps", WORK, "gone-0123456789").is_none());
    assert_eq!(api.list("configmaps").len(), before - 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_cannot_or_will_not_say_is_no_absence() {
    let refused = |code, reason| Fault::Refused(code, reason, "no".to_owned());
    // The last: as an API server without the CRD, or a proxy, says it.
    for fault in [
        refused(403, "Forbidden"),
        refused(500, "InternalError"),
        Fault::Dropped,
        refused(404, "NotFound"),
    ] {
        let (api, _running) = cluster(12).await;
        let hooked = fault.clone();
        api.on_request(move |request| {
            let asks = request.verb == "get" && request.resource == "streamingpipelines";
            if asks { hooked.clone() } else { Fault::None }
        });
        api.put("pods", stray("gone-0-0"));
        sleep(LONG).await;
        assert!(is_there(&api, "gone-0-0"), "{fault:?}");
        assert_eq!(told(&api), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_established_crd_nothing_is_an_orphan() {
    let (api, _running) = cluster(12).await;
    let name = "streamingpipelines.streams.sentry.io";
    api.edit(CRDS, "", name, |crd| {
        crd["status"]["conditions"][0]["status"] = json!("False");
    });
    api.put("pods", stray("gone-0-0"));
    sleep(LONG).await;
    assert!(is_there(&api, "gone-0-0"));
    api.remove(CRDS, "", name);
    sleep(LONG).await;
    assert!(is_there(&api, "gone-0-0"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_say_whose_it_is_is_kept() {
    let (api, _running) = cluster(12).await;
    let mut nameless = stray("gone-0-0");
    nameless["metadata"]["annotations"] = json!({"streams.sentry.io/owner-name": "gone"});
    api.put("pods", nameless);
    sleep(LONG).await;
    assert!(is_there(&api, "gone-0-0"));
}

#[tokio::test(start_paused = true)]
async fn more_than_a_tenth_of_all_pods_is_left_to_a_person_and_told_once() {
    let (api, _running) = cluster(12).await;
    api.put("pods", stray("gone-0-0"));
    api.put("pods", stray("gone-1-0"));
    sleep(LONG + LONG).await;
    assert!(is_there(&api, "gone-0-0") && is_there(&api, "gone-1-0"));
    let [refused] = &told(&api)[..] else {
        panic!("{:?}", told(&api));
    };
    assert!(
        refused.starts_with("OrphanSweepRefused 2 orphans are not removed"),
        "{refused}"
    );
    assert!(
        refused.ends_with("Pod work/gone-0-0, Pod work/gone-1-0"),
        "the names: {refused}"
    );
    // One of them is dealt with: what is left is no more than a tenth.
    api.remove("pods", WORK, "gone-1-0");
    sleep(LONG).await;
    assert!(!is_there(&api, "gone-0-0"));
}

#[tokio::test(start_paused = true)]
async fn while_every_object_has_its_pipeline_nothing_is_asked() {
    let (api, _running) = cluster(3).await;
    sleep(LONG).await;
    api.forget_requests();
    sleep(LONG).await;
    let asked = api.requests().into_iter().filter(|request| request.verb != "watch");
    assert_eq!(asked.collect::<Vec<_>>(), []);
}

#[tokio::test(start_paused = true)]
async fn the_pods_of_a_pipeline_that_was_made_again_are_its_own_to_replace() {
    let (api, _running) = cluster(12).await;
    // Held, so that only a sweep could remove them.
    let mut again = pipeline("p", 12, "image:1");
    again["spec"]["rollout"] = json!({"paused": true});
    api.remove(PIPELINES, "ns", "p");
    api.put(PIPELINES, again);
    let before: Vec<String> = api.list("pods").into_keys().collect();
    sleep(LONG + LONG).await;
    let after: Vec<String> = api.list("pods").into_keys().collect();
    assert_eq!(after, before);
}
