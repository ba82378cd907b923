//! Whose an object is, its owner-uid says: what is not ours is neither changed nor deleted, and who has a name is told.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_api::{FakeApi, Fault};
use tokio::time::sleep;

use super::operator::{Mode, Operator, PIPELINES, condition, kubelet, message, pipeline, pods, settle, text};
use super::{ALL_OF_THREE, is_pod_create};

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
async fn a_foreign_pod_under_one_name_keeps_no_other_pod_from_being_healed_and_costs_no_status_writes() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let operator = Operator::start(&api, "operator", &Mode::default());
    api.put(
        "pods",
        json!({"metadata": {"name": "svc-pipeline-p-0-0-0", "namespace": "ns", "labels": {"app": "other"}}}),
    );
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    sleep(Duration::from_secs(60)).await;
    let ours = || {
        pods(&api)
            .into_iter()
            .filter(|pod| pod.ends_with("image:1"))
            .collect::<Vec<_>>()
    };
    assert_eq!(ours(), ["primary/1 image:1", "primary/2 image:1"]);
    assert_eq!(condition(&api, "p", "Ready"), "False NameCollision");
    api.forget_requests();
    sleep(Duration::from_secs(3600)).await;
    let written: Vec<_> = api
        .writes()
        .into_iter()
        .filter(|write| write.resource == "streamingpipelines")
        .collect();
    assert_eq!(written, [], "nothing new to say");
    drop(operator);
    let _next = Operator::start(&api, "next", &Mode::default());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        condition(&api, "p", "Ready"),
        "False NameCollision",
        "a restart does not get around it"
    );
}

/// A Pod with our managed-by label that nobody answers for: its owner-uid is no pipeline's, and it names none.
fn stray(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "labels": {
            "streams.sentry.io/managed-by": "streaming-operator", "streams.sentry.io/owner-uid": "of-nobody",
        }},
        "spec": {"containers": [{"name": "c", "image": "stray:1"}]},
        "status": {"phase": "Running"},
    })
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_our_label_that_nobody_answers_for_is_not_gone_around_whatever_its_generation() {
    for name in ["svc-pipeline-p-0-1-0", "svc-pipeline-p-0-1-7"] {
        let api = FakeApi::new();
        let _kubelet = kubelet(&api);
        let _operator = Operator::start(&api, "operator", &Mode::default());
        api.put("pods", stray(name));
        let before = api.get("pods", "ns", name);
        api.put(PIPELINES, pipeline("p", 3, "image:1"));
        sleep(Duration::from_secs(60)).await;
        let said = format!(
            "creating Pod {name}: the name belongs to Pod {name}, which is not of this operator; it is neither \
             changed nor deleted; it is tried again within 5 minutes"
        );
        for type_ in ["Ready", "Applied"] {
            assert_eq!(condition(&api, "p", type_), "False NameCollision");
            assert_eq!(message(&api, "p", type_), said);
        }
        let events: Vec<Value> = api.list("events.k8s.io/events").into_values().collect();
        let told: Vec<_> = events
            .iter()
            .filter(|event| event["reason"] == "NameCollision")
            .collect();
        assert_eq!(told.len(), 1, "{events:#?}");
        assert_eq!(told[0]["note"], json!(said));
        assert_eq!(pods(&api), ["/ stray:1", "primary/0 image:1", "primary/2 image:1"]);

        // The others are healed meanwhile.
        api.remove("pods", "ns", "svc-pipeline-p-0-2-0");
        sleep(Duration::from_secs(60)).await;
        assert_eq!(pods(&api), ["/ stray:1", "primary/0 image:1", "primary/2 image:1"]);
        assert_eq!(api.get("pods", "ns", name), before);

        api.remove("pods", "ns", name);
        settle(&api).await;
        assert_eq!(pods(&api), ALL_OF_THREE, "it goes on by itself when the name is free");
        assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_that_finds_our_own_object_in_its_place_is_done() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    // All that is made is answered with 409 AlreadyExists, and it is ours that exists.
    api.on_request(|request| {
        let made = ["pods", "configmaps", "controllerrevisions"].contains(&request.resource.as_str());
        if made && request.verb == "create" && !request.dry_run {
            Fault::Repeated
        } else {
            Fault::None
        }
    });
    api.put(PIPELINES, pipeline("p", 3, "image:1"));
    settle(&api).await;
    assert_eq!(pods(&api), ALL_OF_THREE);
    assert_eq!(condition(&api, "p", "Ready"), "True Ready");
    let writes = api.writes();
    assert_eq!(
        writes.iter().filter(|write| is_pod_create(write)).count(),
        3,
        "none is made twice"
    );
    let statuses = writes
        .iter()
        .filter(|write| write.resource == "streamingpipelines/status");
    let complaints: Vec<_> = statuses
        .flat_map(|write| {
            write.body["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .filter(|condition| condition["type"] == "Applied" && condition["status"] == "False")
        .collect();
    assert_eq!(complaints, Vec::<Value>::new(), "nothing is said to have failed");
}

#[tokio::test(start_paused = true)]
async fn a_create_that_finds_the_pod_of_another_pipeline_in_its_place_says_whose_it_is() {
    let api = FakeApi::new();
    let _kubelet = kubelet(&api);
    let _operator = Operator::start(&api, "operator", &Mode::default());
    api.put(PIPELINES, pipeline("other", 1, "image:1"));
    settle(&api).await;
    let other = api.get(PIPELINES, "ns", "other").expect("a pipeline");
    // Without our managed-by label no watch shows them; only the create meets them.
    let taken = |ordinal: u8, uid: &str, owner: &str| {
        json!({
            "metadata": {
                "name": format!("svc-pipeline-p-0-{ordinal}-0"), "namespace": "ns",
                "labels": {"streams.sentry.io/owner-uid": uid},
                "annotations": {"streams.sentry.io/owner-name": owner, "streams.sentry.io/owner-namespace": "ns"},
            },
            "spec": {"containers": [{"name": "c", "image": "taken:1"}]},
        })
    };
    for (pod, said) in [
        (
            taken(0, &text(&other, "/metadata/uid"), "other"),
            "of pipeline ns/other;",
        ),
        (taken(0, "of-nobody", "gone"), "of the deleted pipeline ns/gone;"),
    ] {
        api.put("pods", pod);
        api.put(PIPELINES, pipeline("p", 1, "image:1"));
        sleep(Duration::from_secs(60)).await;
        assert_eq!(condition(&api, "p", "Ready"), "False NameCollision");
        let words = message(&api, "p", "Ready");
        assert!(
            words.contains(said) && words.contains("svc-pipeline-p-0-0-0"),
            "{words}"
        );
        let stands = api.get("pods", "ns", "svc-pipeline-p-0-0-0").expect("the Pod");
        assert_eq!(stands["metadata"]["deletionTimestamp"], Value::Null);
        api.remove(PIPELINES, "ns", "p");
        sleep(Duration::from_secs(60)).await;
    }
}
