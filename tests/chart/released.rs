//! `streaming-operator release`: pipelines are let go before the operator is uninstalled for good.

use testkit::wait::{self, Seen};

use crate::helm;
use crate::program::run;
use crate::replica::{Release, apply, pipeline};
use crate::rights::cluster;

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_are_let_go_once_no_operator_runs_and_their_pods_stay() {
    let cluster = cluster().await;
    let own = cluster.namespace("own").await.unwrap();
    let pipelines = cluster.namespace("pipelines").await.unwrap();
    let workloads = cluster.namespace("workloads").await.unwrap();
    let release = Release::new(cluster, &own, "leaving-streaming-operator");
    let values = format!("crds.install=false,watchNamespaces={{{pipelines}}},workloadNamespace={workloads}");
    let chart = helm::chart();
    release
        .helm("install", chart.to_str().unwrap(), &["--set", &values])
        .await;
    release.lead_here().await;
    let operator = release.start(None).await;
    operator.ready().await;
    apply(cluster, &pipelines, &pipeline("held"), &[]).await.unwrap();
    let pods = ["get", "pods", "--namespace", &workloads, "--output=name"];
    let running = wait::until("Pods of the pipeline", wait::DEADLINE, async || {
        Ok(Seen::when(cluster.kubectl(&pods).await?, |pods| {
            pods.lines().count() == 2
        }))
    });
    let running = running.await.unwrap();

    let in_own = ["release", "--namespace", &own];
    let refused = run(cluster, &in_own).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(
        refused
            .stderr
            .contains("the operator runs, and would put the finalizers back"),
        "{}",
        refused.stderr
    );
    operator.stop().await;

    let path = "--output=jsonpath={.metadata.finalizers}";
    let finalizers = ["get", "spipe", "held", "--namespace", &pipelines, path];
    let tried = run(cluster, &[&in_own[..], &["--dry-run"]].concat()).await;
    assert_eq!(tried.code, Some(0), "{}", tried.stderr);
    assert!(
        tried
            .stdout
            .contains(&format!("{pipelines}/held: would be released; its Pods stay")),
        "{}",
        tried.stdout
    );
    assert_eq!(
        cluster.kubectl(&finalizers).await.unwrap(),
        r#"["streams.sentry.io/cleanup"]"#
    );

    let done = run(cluster, &in_own).await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let same = format!(
        "kubectl --namespace {pipelines} patch streamingpipeline held --type=merge --patch \
         '{{\"metadata\":{{\"finalizers\":[]}}}}'"
    );
    assert!(done.stdout.contains(&same), "{}", done.stdout);
    assert!(
        done.stdout.ends_with("1 pipelines released, 0 refused\n"),
        "{}",
        done.stdout
    );
    assert_eq!(cluster.kubectl(&finalizers).await.unwrap(), "");
    release.helm_on(&["uninstall"], &[]).await;
    cluster
        .kubectl(&["delete", "spipe", "held", "--namespace", &pipelines, "--timeout=60s"])
        .await
        .unwrap();
    assert_eq!(cluster.kubectl(&pods).await.unwrap(), running);
    let again = run(cluster, &[&in_own[..], &["--watch-namespace", &pipelines]].concat()).await;
    assert_eq!(again.stdout, "0 pipelines released, 0 refused\n", "{}", again.stderr);
}
