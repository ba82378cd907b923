//! The Python operator runs beside this one, and comes back after it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use testkit::assets;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::install::Roles;
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};

use crate::bed::{Group, SOON};
use crate::pipelines::Pipeline;
use crate::python::{self, Release};
use crate::way_back;
use crate::witness::Witness;

/// Of its own: the Python operator takes every pipeline of a cluster.
static CLUSTER: Shared = Shared::new(Options::full(2));
/// How long a Deployment is to be left alone here. Each touch of a pipeline makes the Python operator apply it at once.
const GRACE: &str = "5s";
/// For how long both run once the move has stopped: twice as long as a Deployment must be left alone.
const BESIDE: Duration = Duration::from_secs(10);

async fn ours(cluster: &ControlPlane, group: &Group, old: &str) -> Operator {
    let roles = Roles {
        legacy_namespace: Some(old.to_owned()),
        ..Roles::within(&group.namespace, &[&group.namespace])
    };
    cluster.install_roles(&roles).await.unwrap();
    let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), cluster, &group.namespace).unwrap();
    let launch = launch.with(&["--watch-namespace", &group.namespace, "--webhook-enabled", "false"]);
    launch
        .with(&["--leader-elect", "false", "--legacy-grace", GRACE])
        .start()
        .unwrap()
}

/// A person touches the pipelines, so that the Python operator looks at them; gives the reasons of `Applied` afterwards.
async fn touch(cluster: &ControlPlane, group: &Group, number: usize) -> Vec<String> {
    let value = format!("touched={number}");
    let annotate = [
        "annotate",
        "spipe",
        "--all",
        "--overwrite",
        &value,
        "--namespace",
        &group.namespace,
    ];
    cluster.kubectl(&annotate).await.unwrap();
    let reason = |pipeline: &Value| {
        let conditions = pipeline["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let applied = conditions
            .iter()
            .find(|condition| condition["type"] == "Applied")
            .cloned();
        applied.unwrap_or_default()["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    group.objects(cluster).await.unwrap().iter().map(reason).collect()
}

/// The numbers of the Deployments, and the Pods of this operator.
async fn counts(cluster: &ControlPlane, group: &Group, old: &str) -> (String, usize) {
    let path = "jsonpath={range .items[*]}{.spec.replicas} {end}";
    let numbers = cluster
        .kubectl(&["get", "deployments", "--namespace", old, "--output", path])
        .await
        .unwrap();
    let pods = cluster
        .kubectl(&["get", "pods", "--namespace", &group.namespace, "--output=name"])
        .await
        .unwrap();
    (numbers.trim().to_owned(), pods.lines().count())
}

/// What one release of the Python operator does beside this one, and how it gets the pipelines back.
async fn beside(cluster: &ControlPlane, group: &Group, old: &str, release: Release) -> Operator {
    let theirs = python::start(cluster, old, release).await;
    group.until_run_by_deployments(cluster, old).await;
    let bounds = group
        .pipelines
        .iter()
        .map(|pipeline| pipeline.bounds(&group.service))
        .collect();
    let witness = Witness::begin(cluster.admin().await.unwrap(), &[old, &group.namespace], bounds).await;

    // Both run. The move does not begin, and that is said all the time once it was said.
    let operator = ours(cluster, group, old).await;
    let touches = AtomicUsize::new(0);
    let look = async || {
        let reasons = touch(cluster, group, touches.fetch_add(1, Ordering::Relaxed)).await;
        Ok(Seen::when(reasons, |all| {
            all.iter().all(|reason| reason == "LegacyOperatorRunning")
        }))
    };
    wait::until("LegacyOperatorRunning", SOON, look).await.unwrap();
    let until = std::time::Instant::now() + BESIDE;
    let mut other = Vec::new();
    while std::time::Instant::now() < until {
        let reasons = touch(cluster, group, touches.fetch_add(1, Ordering::Relaxed)).await;
        // The Python operator writes its own status over ours now and then; ours follows.
        other.extend(
            reasons
                .into_iter()
                .filter(|reason| reason != "LegacyOperatorRunning" && reason != "Applied"),
        );
        assert_eq!(counts(cluster, group, old).await, ("1 3".to_owned(), 0));
    }
    assert_eq!(other, Vec::<String>::new());

    // It stops, and the move goes on by itself.
    python::stop(&theirs).await;
    let look = async || {
        let (numbers, pods) = counts(cluster, group, old).await;
        Ok(Seen::when((numbers, pods), |(_, pods)| *pods > 0))
    };
    if let Err(error) = wait::until("the move to begin", SOON, look).await {
        panic!("{error:#}\n{}", operator.log_tail(60));
    }
    if release == Release::Latest
        && let Err(error) = group.until_moved(cluster, old).await
    {
        panic!("{error:#}\n{}", operator.log_tail(60));
    }
    let (states, violations) = witness.end();
    assert_eq!(violations, Vec::<String>::new(), "of {states} states");
    operator
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_the_python_operator_nothing_moves_and_there_is_a_way_back_to_it() {
    let cluster = CLUSTER.get().await.unwrap();
    cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
    let old = cluster.namespace("streaming-pipelines").await.unwrap();
    // With earlier releases' label, and back in the middle of the move.
    let slow = || vec![Pipeline::new("one", 1).slow(), Pipeline::new("three", 3).slow()];
    let group = Group::create(cluster, "older", slow()).await;
    let operator = beside(cluster, &group, &old, Release::Older).await;
    let theirs = way_back::go(cluster, &group, &old, operator, Release::Older).await;
    group.delete(cluster, &old).await;
    python::stop(&theirs).await;

    // With the label of today, back from its end, and forth again.
    let group = Group::create(cluster, "both", slow()).await;
    let operator = beside(cluster, &group, &old, Release::Latest).await;
    let theirs = way_back::go(cluster, &group, &old, operator, Release::Latest).await;
    python::stop(&theirs).await;
    let operator = ours(cluster, &group, &old).await;
    if let Err(error) = group.until_moved(cluster, &old).await {
        panic!("{error:#}\n{}", operator.log_tail(60));
    }
    group.delete(cluster, &group.namespace).await;
    drop(operator);
}
