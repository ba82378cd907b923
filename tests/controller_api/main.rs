//! The controller against an API server within the process, on a paused clock: what it writes, what it never writes, and
//! that it comes to the same end wherever it is interrupted.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod operator;

use std::time::Duration;

use operator::{Mode, Operator, PIPELINES, REVISIONS, condition, kubelet, pipeline, pods, settle, text};
use serde_json::{Value, json};
use streaming_operator::leader::WriteGate;
use testkit::fake_api::{FakeApi, Fault, Request};
use tokio::time::sleep;

const ALL_OF_THREE: [&str; 3] = ["primary/0 image:1", "primary/1 image:1", "primary/2 image:1"];

fn is_pod_create(request: &Request) -> bool {
    request.verb == "create" && request.resource == "pods" && !request.dry_run
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_gets_a_revision_a_config_and_its_pods_and_becomes_ready() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    assert_eq!(api.list("configmaps").len(), 1);
    assert_eq!(api.list(REVISIONS).len(), 1);
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    for object in api
        .list("pods")
        .values()
        .chain(api.list("configmaps").values())
        .chain(api.list(REVISIONS).values())
    {
        let owner = &object["metadata"]["ownerReferences"][0];
        assert_eq!(owner["name"], "p");
        assert_eq!(owner["controller"], true);
    }
}

#[tokio::test(start_paused = true)]
async fn when_nothing_differs_nothing_is_asked_but_watches() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    for name in ["a", "b", "c"] {
        api.put(PIPELINES, pipeline(name, 2, "image:1"));
    }
    settle(&api).await;
    api.forget_requests();
    sleep(Duration::from_secs(3600)).await;
    let others: Vec<_> = api
        .requests()
        .into_iter()
        .filter(|request| request.verb != "watch")
        .collect();
    assert_eq!(others, []);
}

#[tokio::test(start_paused = true)]
async fn an_edit_replaces_the_pods_and_each_delete_carries_the_uid_of_what_it_means() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    api.edit(PIPELINES, "ns", "p", |pipeline| {
        pipeline["spec"]["image_name"] = json!("image:2");
    });
    settle(&api).await;
    assert_eq!(
        pods(&api),
        ["primary/0 image:2", "primary/1 image:2", "primary/2 image:2"]
    );
    let deletes: Vec<_> = api
        .writes()
        .into_iter()
        .filter(|write| write.verb == "delete")
        .collect();
    assert!(deletes.len() >= 3, "{deletes:?}");
    for delete in deletes {
        assert_ne!(text(&delete.body, "/preconditions/uid"), "", "{delete:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_under_our_name_that_is_not_ours_stays_as_it_is_and_the_pipeline_says_so() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let foreign = json!({
        "metadata": {"name": "svc-pipeline-p-0-1-0", "namespace": "ns", "labels": {"app": "other"}},
        "status": {"phase": "Running"},
    });
    for generation in 0..2 {
        let mut foreign = foreign.clone();
        foreign["metadata"]["name"] = json!(format!("svc-pipeline-p-0-1-{generation}"));
        api.put("pods", foreign);
    }
    let before: Vec<Value> = api.list("pods").into_values().collect();
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(condition(&api, "p", "Ready"), "False NameCollision");
    let after: Vec<Value> = api
        .list("pods")
        .into_values()
        .filter(|pod| pod["metadata"]["labels"]["app"] == "other")
        .collect();
    assert_eq!(before, after);
    for pod in after {
        api.remove("pods", "ns", &text(&pod, "/metadata/name"));
    }
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE, "it goes on by itself when the name is free");
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_ours_that_the_watch_does_not_show_counts_as_made() {
    let api = FakeApi::new();
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut lost = 0;
    api.on_request(move |request| {
        let is_hit = is_pod_create(request) && lost < 1;
        lost += usize::from(is_hit);
        if is_hit { Fault::AnswerLost } else { Fault::None }
    });
    let _kubelet = kubelet(&api);
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    let creates = api.writes().into_iter().filter(is_pod_create).count();
    assert_eq!(creates, 3, "the one whose answer was lost is not made again");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_someone_else_wrote_in_between_is_read_again_and_written() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut refused = 0;
    api.on_request(move |request| {
        let refuse = request.resource == "streamingpipelines/status" && refused < 3;
        refused += usize::from(refuse);
        if refuse {
            Fault::Refused(409, "Conflict", "the object has been modified".to_owned())
        } else {
            Fault::None
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    let reads = api
        .requests()
        .into_iter()
        .filter(|request| request.verb == "get" && request.resource == "streamingpipelines");
    assert_eq!(reads.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_refuses_stands_in_the_status_and_is_tried_again_ever_more_rarely() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let message = "pods \"x\" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=0, limited: pods=0";
    api.on_request(move |request| {
        if is_pod_create(request) {
            Fault::Refused(403, "Forbidden", message.to_owned())
        } else {
            Fault::None
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(5)).await;
    assert!(
        condition(&api, "p", "Applied").starts_with("False"),
        "{}",
        condition(&api, "p", "Applied")
    );
    sleep(Duration::from_secs(600)).await;
    // At 0, 10, 30, 70, 150, 310 and then every 300 seconds.
    let tries = api.writes().into_iter().filter(is_pod_create).count();
    assert!((6..=7).contains(&tries), "{tries} tries in ten minutes");
    api.heal();
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    assert!(condition(&api, "p", "Applied").starts_with("True"));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_fails_is_asked_again_and_nothing_is_made_twice() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut asked = 0_usize;
    api.on_request(move |request| {
        asked += usize::from(request.is_write());
        match asked % 4 {
            0 => Fault::Refused(503, "ServiceUnavailable", "etcd leader changed".to_owned()),
            1 => Fault::AnswerLost,
            2 => Fault::Dropped,
            _ => Fault::None,
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(900)).await;
    api.heal();
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_that_cannot_be_read_says_why_and_disturbs_no_other() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    let mut broken = pipeline("broken", 3, "image:1");
    broken["spec"]["replicas"] = json!("three");
    api.put(PIPELINES, broken);
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(condition(&api, "broken", "Rendered"), "False RenderFailed");
    let broken = api.get(PIPELINES, "ns", "broken").expect("a pipeline").to_string();
    assert!(broken.contains("spec.replicas"), "{broken}");
    assert_eq!(pods(&api), ALL_OF_THREE);
}

#[tokio::test(start_paused = true)]
async fn in_another_namespace_a_finalizer_holds_the_pipeline_until_its_pods_are_gone() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let mode = Mode {
        workload_namespace: Some("work"),
        ..Mode::default()
    };
    let _operator = Operator::start(&api, "operator", &mode);
    api.put(PIPELINES, pipeline("p", 2, "image:1"));
    settle(&api).await;
    let stored = api.get(PIPELINES, "ns", "p").expect("a pipeline");
    assert_eq!(stored["metadata"]["finalizers"], json!(["streams.sentry.io/cleanup"]));
    assert!(api.list("pods").keys().all(|key| key.starts_with("work/")));
    assert_eq!(api.list("pods").len(), 2);
    api.edit(PIPELINES, "ns", "p", |pipeline| {
        pipeline["metadata"]["deletionTimestamp"] = json!("2026-01-01T01:00:00Z");
    });
    settle(&api).await;
    assert!(
        api.get(PIPELINES, "ns", "p").is_none(),
        "the finalizer is gone and the pipeline with it"
    );
    assert!(api.list("pods").is_empty() && api.list("configmaps").is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_the_gate_is_shut() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let mode = Mode {
        gate: Some(WriteGate::closed()),
        ..Mode::default()
    };
    let _operator = Operator::start(&api, "operator", &mode);
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(api.writes(), []);
}

/// What a create, an edit and a scale down came to.
struct Story {
    pods: Vec<String>,
    config_maps: Vec<String>,
    /// Pods made on the way.
    made: usize,
    /// Writes of the operator that is killed, or would have been.
    writes: usize,
}

/// Where the first operator is killed: after so many writes, with the last of them done or not.
#[derive(Clone, Copy, Debug)]
struct Kill {
    at: usize,
    last_is_done: bool,
}

/// A create, an edit and a scale down under an operator that is killed on the way, and another that takes over.
async fn story(kill: Option<Kill>) -> Story {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let mut writes = 0;
    api.on_request(move |request| {
        let Some(kill) = kill.filter(|_| request.client == "first") else {
            return Fault::None;
        };
        writes += usize::from(request.is_write());
        match (
            writes >= kill.at,
            writes == kill.at && request.is_write() && kill.last_is_done,
        ) {
            (false, _) => Fault::None,
            (true, true) => Fault::AnswerLost,
            (true, false) => Fault::BlackHoled,
        }
    });
    let first = Operator::start(&api, "first", &Mode::default());
    let change = |change: &dyn Fn(&mut Value)| api.edit(PIPELINES, "ns", "p", |pipeline| change(pipeline));
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(300)).await;
    change(&|pipeline| pipeline["spec"]["image_name"] = json!("image:2"));
    sleep(Duration::from_secs(300)).await;
    change(&|pipeline| pipeline["spec"]["replicas"] = json!(2));
    sleep(Duration::from_secs(300)).await;
    drop(first);
    let _second = Operator::start(&api, "second", &Mode::default());
    settle(&api).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready", "{kill:?}");
    Story {
        pods: pods(&api),
        config_maps: api.list("configmaps").into_keys().collect(),
        made: api.writes().into_iter().filter(is_pod_create).count(),
        writes: api.writes().into_iter().filter(|write| write.client == "first").count(),
    }
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_write_the_next_one_comes_to_the_same_end() {
    let whole = story(None).await;
    assert_eq!(whole.pods, ["primary/0 image:2", "primary/1 image:2"]);
    assert!(whole.writes > 20, "{} writes", whole.writes);
    for at in 1..=whole.writes {
        for last_is_done in [false, true] {
            let kill = Kill { at, last_is_done };
            let interrupted = story(Some(kill)).await;
            assert_eq!(interrupted.pods, whole.pods, "{kill:?}");
            assert_eq!(interrupted.config_maps, whole.config_maps, "{kill:?}");
            assert!(
                interrupted.made <= whole.made,
                "{kill:?}: {} Pods made",
                interrupted.made
            );
        }
    }
}
