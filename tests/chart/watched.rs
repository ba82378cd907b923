//! A release for a few namespaces: Roles there, and nothing beyond.

use testkit::wait::{self, Seen};

use crate::helm;
use crate::replica::{Release, apply, pipeline};
use crate::rights::cluster;

async fn may(release: &Release<'_>, question: &[&str]) -> bool {
    let user = format!("--as=system:serviceaccount:{0}:{1}", release.namespace, release.name);
    let all = [&["auth", "can-i", &user], question].concat();
    // kubectl exits with 1 for "no".
    release.cluster.kubectl(&all).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_watched_namespaces_pipelines_run_there_and_others_are_neither_judged_nor_touched() {
    let cluster = cluster().await;
    let own = cluster.namespace("own").await.unwrap();
    let watched = cluster.namespace("watched").await.unwrap();
    let other = cluster.namespace("other").await.unwrap();
    let release = Release::new(cluster, &own, "watched-streaming-operator");
    let values = format!("crds.install=false,watchNamespaces={{{watched}}}");
    release
        .helm("install", helm::chart().to_str().unwrap(), &["--set", &values])
        .await;
    release.lead_here().await;
    let operator = release.start(None).await;
    operator.ready().await;

    let mut bad = pipeline("bad");
    bad["spec"]["segment_id"] = 7.into();
    let refusal = apply(cluster, &watched, &bad, &[]).await.expect_err("a refusal");
    assert!(refusal.contains("spec.segment_id"), "{refusal}");
    apply(cluster, &other, &bad, &[]).await.unwrap();
    apply(cluster, &watched, &pipeline("good"), &[]).await.unwrap();
    wait::until("Pods in the watched namespace", wait::DEADLINE, async || {
        let pods = cluster
            .kubectl(&["get", "pods", "--namespace", &watched, "--output=name"])
            .await?;
        Ok(Seen::when(pods, |pods| pods.lines().count() == 2))
    })
    .await
    .unwrap();
    let status = [
        "get",
        "spipe",
        "bad",
        "--namespace",
        &other,
        "--output=jsonpath={.status}",
    ];
    // What the API server writes itself: nobody has looked at it.
    assert_eq!(cluster.kubectl(&status).await.unwrap(), r#"{"observedGeneration":-1}"#);

    for (answer, question) in [
        (true, &["create", "pods", "--namespace", &watched][..]),
        (false, &["create", "pods", "--namespace", &other]),
        (false, &["list", "streamingpipelines", "--all-namespaces"]),
        (false, &["list", "secrets", "--all-namespaces"]),
        (false, &["get", "secrets", "--namespace", &watched]),
        (false, &["get", "secrets/another", "--namespace", &own]),
        (true, &["get", "secrets/streaming-operator-tls", "--namespace", &own]),
    ] {
        assert_eq!(may(&release, question).await, answer, "{question:?}");
    }
    operator.stop().await;
}
