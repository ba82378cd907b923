//! Pods and the lives that kwok gives them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use k8s_openapi::api::core::v1::{ContainerState, Pod};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use testkit::control_plane::{Options, Shared};
use testkit::stages;
use testkit::wait::{self, Seen};
use testkit::{pods, users};

static CLUSTER: Shared = Shared::new(Options::full(2));

/// A Pod as the operator makes it: bare, never restarted.
async fn pod(api: &Api<Pod>, name: &str, image: &str, annotations: &[(&str, &str)]) {
    let annotations: std::collections::BTreeMap<_, _> = annotations.iter().copied().collect();
    let pod = serde_json::from_value(json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 2,
            "containers": [{ "name": "consumer", "image": image }, { "name": "sidecar", "image": "sidecar:1" }],
        },
    }))
    .unwrap();
    api.create(&PostParams::default(), &pod).await.unwrap();
}

async fn new_namespace() -> (Api<Pod>, String) {
    let cluster = CLUSTER.get().await.unwrap();
    let namespace = cluster.namespace("lives").await.unwrap();
    (Api::namespaced(cluster.admin().await.unwrap(), &namespace), namespace)
}

/// Phase, whether it is ready, and the state of the first container in a word.
fn look(pod: &Pod) -> String {
    let status = pod.status.clone().unwrap_or_default();
    let ready = status
        .conditions
        .iter()
        .flatten()
        .any(|one| one.type_ == "Ready" && one.status == "True");
    let state = status
        .container_statuses
        .iter()
        .flatten()
        .next()
        .and_then(|one| one.state.clone());
    let state = match state {
        Some(ContainerState {
            waiting: Some(waiting), ..
        }) => waiting.reason.unwrap_or_default(),
        Some(ContainerState {
            terminated: Some(end), ..
        }) => format!("{} {}", end.reason.unwrap_or_default(), end.exit_code),
        Some(ContainerState { running: Some(_), .. }) => "running".to_owned(),
        _ => "none".to_owned(),
    };
    let ready = if ready { "ready" } else { "not ready" };
    format!("{}, {ready}, {state}", status.phase.unwrap_or_default())
}

async fn until_looks(api: &Api<Pod>, name: &str, expected: &str) -> Pod {
    wait::until(&format!("{name} to be {expected}"), wait::DEADLINE, async || {
        let pod = api.get(name).await?;
        let seen = look(&pod);
        Ok(if seen == expected {
            Seen::Yes(pod)
        } else {
            Seen::NotYet(seen)
        })
    })
    .await
    .unwrap()
}

async fn until_gone(api: &Api<Pod>, name: &str) {
    let look = async || Ok(Seen::when(api.get_opt(name).await?.is_none(), |gone| *gone));
    wait::until(&format!("{name} to be gone"), wait::DEADLINE, look)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_bare_pod_runs_and_stays_ready_and_goes_at_once_when_deleted() {
    let (api, _) = new_namespace().await;
    pod(&api, "plain", "consumer:1", &[]).await;
    let running = until_looks(&api, "plain", "Running, ready, running").await;
    assert!(running.spec.unwrap().node_name.unwrap().starts_with("node-"));
    // A Pod that lives beside it and ends: by then a stage that touched the plain one would have done so.
    pod(&api, "marker", "consumer:1", &[(stages::LIFE, stages::CRASH)]).await;
    until_looks(&api, "marker", "Failed, not ready, Error 1").await;
    until_looks(&api, "plain", "Running, ready, running").await;
    api.delete("plain", &DeleteParams::default()).await.unwrap();
    until_gone(&api, "plain").await;
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_keeps_its_pod_waiting() {
    let (api, _) = new_namespace().await;
    pod(
        &api,
        "by-annotation",
        "consumer:1",
        &[(stages::LIFE, stages::PULL_ERROR)],
    )
    .await;
    pod(&api, "by-tag", "consumer:bad", &[]).await;
    for name in ["by-annotation", "by-tag"] {
        until_looks(&api, name, "Pending, not ready, ImagePullBackOff").await;
    }
}

#[tokio::test]
async fn a_crashing_pod_runs_and_fails_with_its_code_and_reason() {
    let (api, _) = new_namespace().await;
    let killed = [
        (stages::LIFE, stages::CRASH),
        (stages::AFTER, "300ms"),
        ("testkit/exit-code", "137"),
        ("testkit/reason", "OOMKilled"),
    ];
    pod(&api, "killed", "consumer:1", &killed).await;
    pod(
        &api,
        "done",
        "consumer:1",
        &[(stages::LIFE, stages::CRASH), ("testkit/exit-code", "0")],
    )
    .await;
    until_looks(&api, "killed", "Failed, not ready, OOMKilled 137").await;
    until_looks(&api, "done", "Succeeded, not ready, Completed 0").await;
}

#[tokio::test]
async fn a_pod_may_be_ready_late_or_never() {
    let (api, _) = new_namespace().await;
    pod(&api, "never", "consumer:1", &[(stages::LIFE, stages::NEVER_READY)]).await;
    pod(
        &api,
        "late",
        "consumer:1",
        &[(stages::LIFE, stages::SLOW_START), (stages::AFTER, "2s")],
    )
    .await;
    until_looks(&api, "late", "Running, not ready, running").await;
    until_looks(&api, "late", "Running, ready, running").await;
    until_looks(&api, "never", "Running, not ready, running").await;
}

#[tokio::test]
async fn a_pod_may_take_its_grace_or_be_stuck() {
    let (api, _) = new_namespace().await;
    pod(&api, "graceful", "consumer:1", &[(stages::LIFE, stages::GRACEFUL)]).await;
    pod(
        &api,
        "stuck",
        "consumer:1",
        &[(stages::LIFE, stages::STUCK_TERMINATING)],
    )
    .await;
    for name in ["graceful", "stuck"] {
        until_looks(&api, name, "Running, ready, running").await;
        api.delete(name, &DeleteParams::default()).await.unwrap();
        assert!(api.get(name).await.unwrap().metadata.deletion_timestamp.is_some());
    }
    until_gone(&api, "graceful").await;
    assert!(api.get("stuck").await.unwrap().metadata.deletion_timestamp.is_some());
    api.delete(
        "stuck",
        &DeleteParams {
            grace_period_seconds: Some(0),
            ..DeleteParams::default()
        },
    )
    .await
    .unwrap();
    until_gone(&api, "stuck").await;
}

#[tokio::test]
async fn a_test_may_end_a_pod_by_hand_and_kwok_leaves_it_so() {
    let (api, namespace) = new_namespace().await;
    let client = CLUSTER.get().await.unwrap().user(users::ADMIN).await.unwrap();
    for name in ["failed", "evicted", "unready"] {
        pod(&api, name, "consumer:1", &[]).await;
        until_looks(&api, name, "Running, ready, running").await;
    }
    pods::fail_pod(&client, &namespace, "failed", 137, "OOMKilled")
        .await
        .unwrap();
    pods::evict_pod(&client, &namespace, "evicted", "Evicted")
        .await
        .unwrap();
    pods::unready_pod(&client, &namespace, "unready").await.unwrap();
    until_looks(&api, "failed", "Failed, not ready, OOMKilled 137").await;
    let evicted = until_looks(&api, "evicted", "Failed, not ready, Error 137").await;
    assert_eq!(evicted.status.unwrap().reason.as_deref(), Some("Evicted"));
    until_looks(&api, "unready", "Running, not ready, running").await;
    pods::run_pod(&client, &namespace, "unready").await.unwrap();
    until_looks(&api, "unready", "Running, ready, running").await;
}

#[tokio::test]
async fn the_garbage_collector_follows_owner_references() {
    let (api, namespace) = new_namespace().await;
    let cluster = CLUSTER.get().await.unwrap();
    cluster
        .kubectl(&["create", "configmap", "owner", "--namespace", &namespace])
        .await
        .unwrap();
    let get = [
        "get",
        "configmap",
        "owner",
        "--output=jsonpath={.metadata.uid}",
        "--namespace",
        &namespace,
    ];
    let uid = cluster.kubectl(&get).await.unwrap();
    pod(&api, "owned", "consumer:1", &[]).await;
    let owner = json!({ "metadata": { "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid }] } });
    api.patch(
        "owned",
        &kube::api::PatchParams::default(),
        &kube::api::Patch::Merge(owner),
    )
    .await
    .unwrap();
    cluster
        .kubectl(&["delete", "configmap", "owner", "--namespace", &namespace])
        .await
        .unwrap();
    until_gone(&api, "owned").await;
}
