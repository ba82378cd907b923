//! Two releases in a cluster: each runs the pipelines of its own namespaces, and never both the same.

use serde_json::Value;
use testkit::control_plane::ControlPlane;
use testkit::wait::{self, Seen};

use crate::helm;
use crate::program::run;
use crate::replica::{Release, apply, pipeline};
use crate::rights::cluster;

/// A release that is to run the pipelines of these namespaces.
async fn release(cluster: &'static ControlPlane, name: &str) -> Release<'static> {
    let namespace = cluster.namespace("release").await.unwrap();
    Release::new(cluster, &namespace, name)
}

fn values(watched: &[&str]) -> String {
    format!("crds.install=false,watchNamespaces={{{}}}", watched.join(","))
}

async fn pods(cluster: &ControlPlane, namespace: &str) -> usize {
    let get = ["get", "pods", "--namespace", namespace, "--output=name"];
    cluster.kubectl(&get).await.unwrap().lines().count()
}

async fn until_pods(cluster: &ControlPlane, namespace: &str, wanted: usize) {
    wait::until("the Pods of a pipeline", wait::DEADLINE, async || {
        Ok(Seen::when(pods(cluster, namespace).await, |pods| *pods == wanted))
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_of_disjoint_namespaces_both_run_their_pipelines() {
    let cluster = cluster().await;
    let chart = helm::chart();
    let mut operators = Vec::new();
    for name in ["left-streaming-operator", "right-streaming-operator"] {
        let release = release(cluster, name).await;
        let watched = cluster.namespace("disjoint").await.unwrap();
        release
            .helm("install", chart.to_str().unwrap(), &["--set", &values(&[&watched])])
            .await;
        release.lead_here().await;
        let operator = release.start(None).await;
        operator.ready().await;
        operators.push((operator, release, watched));
    }
    for (_, release, watched) in &operators {
        apply(cluster, watched, &pipeline("runs"), &[]).await.unwrap();
        until_pods(cluster, watched, 2).await;
        let ran = run(cluster, &["check", "--namespace", &release.namespace]).await;
        assert_eq!(ran.lines("ok", "overlap").len(), 1, "{}", ran.stdout);
    }
    for (operator, _, _) in operators {
        operator.stop().await;
    }
}

/// As Argo CD and `kubectl apply` install: Helm asks the cluster nothing.
async fn install_unasked(release: &Release<'_>, values: &str) {
    let objects: Vec<Value> = release.render(values);
    release.cluster.apply(&objects).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_shares_a_namespace_is_refused_and_installed_all_the_same_runs_nothing_until_the_other_is_gone()
{
    let cluster = cluster().await;
    let chart = helm::chart();
    let chart = chart.to_str().unwrap();
    let shared = cluster.namespace("shared").await.unwrap();
    let alone = cluster.namespace("alone").await.unwrap();
    let first = release(cluster, "first-streaming-operator").await;
    first.helm("install", chart, &["--set", &values(&[&shared])]).await;
    first.lead_here().await;
    let operator = first.start(None).await;
    operator.ready().await;

    let second = release(cluster, "second-streaming-operator").await;
    let overlapping = values(&[&shared, &alone]);
    let refusal = second.helm_refuses("install", chart, &["--set", &overlapping]).await;
    let path = format!(
        "at '/watchNamespaces': the pipelines of {shared} are run by the release in namespace {} \
         (ValidatingWebhookConfiguration first-streaming-operator)",
        first.namespace
    );
    assert!(refusal.contains(&path), "{refusal}");
    // The one that was there first is upgraded as ever.
    first.helm("upgrade", chart, &["--set", &values(&[&shared])]).await;

    // The older one is told by the second of its creation: two of the same second are told apart by uid, which is random.
    wait::until("another second", wait::DEADLINE, async || {
        let created = first.get("validatingwebhookconfiguration", &first.name).await;
        let created = created["metadata"]["creationTimestamp"]
            .as_str()
            .expect("a time")
            .to_owned();
        let now = jiff::Timestamp::now().to_string();
        Ok(Seen::when(now, |now| now[..19] > created[..19]))
    })
    .await
    .unwrap();
    install_unasked(&second, &overlapping).await;
    second.lead_here().await;
    let other = second.start(None).await;
    // Its admission answers: else it would refuse the edits of the first one's users.
    other.ready().await;
    other
        .says("runs no pipelines, and only serves admission: the pipelines of namespace")
        .await;
    apply(cluster, &shared, &pipeline("shared"), &[]).await.unwrap();
    apply(cluster, &alone, &pipeline("alone"), &[]).await.unwrap();
    until_pods(cluster, &shared, 2).await;
    let ran = run(cluster, &["check", "--namespace", &second.namespace]).await;
    let lines = ran.lines("WRONG", "overlap");
    assert!(
        lines[0].contains("whose ValidatingWebhookConfiguration is first-streaming-operator"),
        "{lines:?}"
    );
    assert_eq!((ran.code, pods(cluster, &alone).await), (Some(1), 0));

    first.helm_on(&["uninstall"], &[]).await;
    operator.stop().await;
    other
        .says("no other release runs the pipelines of this one any more")
        .await;
    until_pods(cluster, &alone, 2).await;
    assert_eq!(pods(cluster, &shared).await, 2);
    other.stop().await;
}
