//! What a pass writes, in every mode it runs in, and that it writes nothing when nothing differs.

use std::time::Duration;

use serde_json::json;
use streaming_operator::leader::WriteGate;
use testkit::fake_api::{FakeApi, Fault};
use tokio::time::sleep;

use super::ALL_OF_THREE;
use super::operator::{
    Mode, Operator, PIPELINES, REVISIONS, condition, kubelet, message, pipeline, pods, settle, text,
};

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
async fn a_pipeline_that_is_made_again_under_its_name_is_looked_at_again() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    for _ in 0..2 {
        api.put(PIPELINES, pipeline("p", 3, "image:1"));
        settle(&api).await;
        assert_eq!(condition(&api, "p", "Ready"), "True Ready");
        let pipeline = api.get(PIPELINES, "ns", "p").expect("a pipeline");
        for pod in api.list("pods").values() {
            let owner = text(pod, "/metadata/labels/streams.sentry.io~1owner-uid");
            assert_eq!(owner, text(&pipeline, "/metadata/uid"));
        }
        // As with --cascade=orphan: what it made stays.
        api.remove(PIPELINES, "ns", "p");
        sleep(Duration::from_secs(10)).await;
    }
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

#[tokio::test(start_paused = true)]
async fn a_status_that_somebody_else_wrote_or_wiped_is_put_right_at_once() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    let right = api.get(PIPELINES, "ns", "p").expect("a pipeline")["status"].clone();
    for wrong in [
        json!({}),
        json!({"readyReplicas": 0, "updateRevision": "!", "rollout": {"phase": "Nope"}, "pods": 3}),
    ] {
        api.edit(PIPELINES, "ns", "p", |pipeline| pipeline["status"] = wrong);
        settle(&api).await;
        let status = &api.get(PIPELINES, "ns", "p").expect("a pipeline")["status"];
        for field in ["readyReplicas", "currentRevision", "updateRevision", "totalReplicas"] {
            assert_eq!(status[field], right[field], "{field}");
        }
        assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    }
    assert_eq!(pods(&api), ALL_OF_THREE);
    api.forget_requests();
    settle(&api).await;
    assert_eq!(api.writes(), [], "and then nothing is left to say");
}

#[tokio::test(start_paused = true)]
async fn when_its_namespace_is_deleted_and_made_again_the_pipeline_goes_on_by_itself() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let mode = Mode {
        workload_namespace: Some("work"),
        ..Mode::default()
    };
    let _operator = Operator::start(&api, "operator", &mode);
    api.put("namespaces", json!({"metadata": {"name": "work"}}));
    api.put(PIPELINES, pipeline("p", 2, "image:1"));
    settle(&api).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");

    api.on_request(|request| {
        if request.verb == "create" && request.namespace == "work" {
            Fault::Refused(404, "NotFound", "namespaces \"work\" not found".to_owned())
        } else {
            Fault::None
        }
    });
    api.remove("namespaces", "", "work");
    for key in api.list("pods").into_keys().chain(api.list("configmaps").into_keys()) {
        let (namespace, name) = key.split_once('/').expect("a namespace");
        for resource in ["pods", "configmaps"] {
            api.remove(resource, namespace, name);
        }
    }
    sleep(Duration::from_secs(600)).await;
    assert_eq!(condition(&api, "p", "Ready"), "False NamespaceTerminating");
    assert!(message(&api, "p", "Ready").contains("namespace work does not exist"));

    api.heal();
    api.put("namespaces", json!({"metadata": {"name": "work"}}));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    assert_eq!(pods(&api), ["primary/0 image:1", "primary/1 image:1"]);
}
