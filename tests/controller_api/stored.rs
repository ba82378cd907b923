//! What is kept of a revision, where, and how it is watched.

use std::time::Duration;

use serde_json::json;
use testkit::fake_api::FakeApi;
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, REVISIONS, kubelet, pipeline, pods, settle, text};

#[tokio::test(start_paused = true)]
async fn of_config_maps_and_revisions_only_the_metadata_is_watched() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 2, "image:1"));
    settle(&api).await;
    for resource in ["configmaps", "controllerrevisions"] {
        let asked = api.requests().into_iter();
        let asked = asked.filter(|request| request.resource == resource && matches!(request.verb, "list" | "watch"));
        let whole: Vec<bool> = asked.map(|request| !request.metadata_only).collect();
        assert!(whole.len() >= 2, "{resource}: listed and watched");
        assert!(!whole.contains(&true), "{resource}: as a whole");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_names_no_ordinal_and_the_pods_do() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 2, "image:1"));
    settle(&api).await;
    for revision in api.list(REVISIONS).values() {
        assert!(!revision.to_string().contains("STREAMS_POD_ORDINAL"), "{revision}");
    }
    let ordinals = |pod: &serde_json::Value| pod.to_string().contains("STREAMS_POD_ORDINAL");
    assert_eq!(
        api.list("pods").values().map(ordinals).collect::<Vec<_>>(),
        [true, true]
    );
}

#[tokio::test(start_paused = true)]
async fn a_config_that_is_missing_is_rendered_again_from_the_stored_spec() {
    let api = FakeApi::new();
    let life = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    let first = api
        .list("configmaps")
        .into_values()
        .next()
        .expect("the config of the first revision");
    // The second revision has another config, and its first Pod does not start.
    drop(life);
    api.edit(PIPELINES, "ns", "p", |pipeline| {
        pipeline["spec"]["image_name"] = json!("image:2");
        pipeline["spec"]["pipeline_config"]["env"] = json!({"TOPIC": "other"});
    });
    sleep(Duration::from_secs(5)).await;
    assert_eq!(api.list("configmaps").len(), 2);
    let name = text(&first, "/metadata/name");
    api.remove("configmaps", "ns", &name);
    // One of the first revision is lost and comes back as current.
    let pod = api
        .list("pods")
        .into_values()
        .find(|pod| pod.to_string().contains("image:1") && pod.pointer("/metadata/deletionTimestamp").is_none());
    api.remove("pods", "ns", &text(&pod.expect("one of the first"), "/metadata/name"));
    sleep(Duration::from_secs(5)).await;
    let again = api.get("configmaps", "ns", &name).expect("made again");
    assert_eq!((&again["data"], &again["immutable"]), (&first["data"], &json!(true)));
    assert_eq!(
        pods(&api).iter().filter(|pod| pod.ends_with("image:1")).count(),
        3,
        "the one that ends, and two"
    );
}
