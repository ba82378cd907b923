//! The Python operator was stopped, and this one starts.

use testkit::install::Roles;
use testkit::operator::Operator;
use testkit::proxy::{Fault, Match, Proxy};
use testkit::users;
use testkit::wait::{self, Seen};

use crate::bed::{Bed, Group, SOON};
use crate::pipelines::{Bounds, Pipeline};
use crate::witness::Witness;

pub(crate) fn bounds(group: &Group) -> Vec<Bounds> {
    group
        .pipelines
        .iter()
        .map(|pipeline| pipeline.bounds(&group.service))
        .collect()
}

pub(crate) async fn witness(bed: &Bed, group: &Group) -> Witness {
    let client = bed.cluster.admin().await.unwrap();
    Witness::begin(client, &[&bed.old, &group.namespace], bounds(group)).await
}

/// Waits for the end of the move, and tells what the operator said when it does not come.
pub(crate) async fn moved(bed: &Bed, group: &Group, operator: &Operator) {
    if let Err(error) = group.until_moved(bed.cluster, &bed.old).await {
        panic!("{error:#}\n{}", operator.log_tail(60));
    }
}

pub(crate) fn judge(witness: Witness) {
    let (states, violations) = witness.end();
    println!("{states} states were judged");
    assert_eq!(violations, Vec::<String>::new());
    assert!(states > 5, "only {states} states were seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_pipelines_move_to_their_own_namespace_without_a_gap_and_without_doubles() {
    let bed = Bed::get().await;
    let group = &bed.ten;
    let witness = witness(bed, group).await;
    let operator = bed.launch(group, users::OPERATOR).await.start().unwrap();
    moved(bed, group, &operator).await;
    judge(witness);
    group.delete(bed.cluster, &group.namespace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_move_within_the_namespace_of_the_python_operator() {
    let bed = Bed::get().await;
    let group = &bed.same;
    let witness = witness(bed, group).await;
    let roles = Roles {
        workload_namespace: Some(bed.old.clone()),
        legacy_namespace: None,
        ..bed.roles(group, users::OPERATOR)
    };
    bed.cluster.install_roles(&roles).await.unwrap();
    let launch = bed.launch(group, users::OPERATOR).await;
    let operator = launch.with(&["--workload-namespace", &bed.old]).start().unwrap();
    moved(bed, group, &operator).await;
    judge(witness);
    group.delete(bed.cluster, &bed.old).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_in_the_middle_of_the_move_is_rolled_out_with_it() {
    let bed = Bed::get().await;
    let group = &bed.edited;
    let witness = witness(bed, group).await;
    let operator = bed.launch(group, users::OPERATOR).await.start().unwrap();
    let ours = format!(
        "--selector=service={},streams.sentry.io/managed-by=streaming-operator",
        group.service
    );
    let look = async || {
        let found = bed
            .cluster
            .kubectl(&["get", "pods", "--namespace", &group.namespace, &ours, "--output=name"])
            .await?;
        Ok(Seen::when(found.lines().count(), |count| *count >= 2))
    };
    wait::until("the first Pods of ours", SOON, look).await.unwrap();
    group.edit(bed.cluster, "registry.example/consumer:2").await;
    moved(bed, group, &operator).await;
    judge(witness);
    let images = "jsonpath={range .items[*]}{.spec.containers[0].image} {end}";
    let found = bed
        .cluster
        .kubectl(&["get", "pods", "--namespace", &group.namespace, "--output", images])
        .await
        .unwrap();
    assert_eq!(
        found.split_whitespace().collect::<Vec<_>>(),
        ["registry.example/consumer:2"; 6]
    );
    group.delete(bed.cluster, &group.namespace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rights_in_the_old_namespace_nothing_is_created_and_the_right_is_named() {
    let bed = Bed::get().await;
    let group = &bed.rights;
    let witness = witness(bed, group).await;
    let operator = bed.launch(group, users::OTHER_OPERATOR).await.start().unwrap();
    let path = r#"jsonpath={.items[0].status.conditions[?(@.type=="Applied")]}"#;
    let look = async || {
        let applied = bed
            .cluster
            .kubectl(&["get", "spipe", "--namespace", &group.namespace, "--output", path])
            .await?;
        Ok(Seen::when(applied, |applied| applied.contains("LegacyUnreadable")))
    };
    let applied = wait::until("LegacyUnreadable", SOON, look).await.unwrap();
    let missing = "list pods, delete pods, list configmaps, delete configmaps, list deployments.apps, patch \
                   deployments.apps, delete deployments.apps, list replicasets.apps";
    assert!(applied.contains(missing), "{applied}");
    let ours = "--selector=streams.sentry.io/managed-by=streaming-operator";
    let kinds = "pods,configmaps,controllerrevisions";
    let found = bed
        .cluster
        .kubectl(&["get", kinds, "--namespace", &group.namespace, ours, "--output=name"])
        .await;
    assert_eq!(found.unwrap(), "");

    let roles = Roles {
        legacy_namespace: Some(bed.old.clone()),
        ..bed.roles(group, users::OTHER_OPERATOR)
    };
    bed.cluster.install_roles(&roles).await.unwrap();
    moved(bed, group, &operator).await;
    judge(witness);
    group.delete(bed.cluster, &group.namespace).await;
}

/// Runs the operator again and again, each time killed after its `number`-th write.
async fn moves_though_killed_after(bed: &Bed, number: u64, group: &Group) {
    let witness = witness(bed, group).await;
    let proxy = Proxy::start(bed.cluster).unwrap();
    let launch = bed
        .launch(group, users::OPERATOR)
        .await
        .via(bed.cluster, &proxy.url())
        .unwrap();
    let mut kills = 0;
    let end = loop {
        let operator = launch.start().unwrap();
        proxy.on(
            Match::writes().nth(number),
            Fault::PassThenKill(operator.process().clone()),
        );
        let look = async || {
            if operator.ended()?.is_some() {
                return Ok(Seen::Yes(true));
            }
            let left = group.left(bed.cluster, &bed.old).await?;
            Ok(if left.is_empty() {
                Seen::Yes(false)
            } else {
                Seen::NotYet(left.join("\n"))
            })
        };
        match wait::until("a kill or the end of the move", SOON, look).await {
            Ok(true) => kills += 1,
            Ok(false) => break Ok(()),
            Err(error) => break Err(format!("{error:#}\n{}", operator.log_tail(40))),
        }
        proxy.clear();
    };
    println!("killed {kills} times, each after {number} writes");
    end.unwrap();
    judge(witness);
    assert!(kills > 0, "it wrote fewer than {number} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_number_of_writes_it_comes_to_the_same_end() {
    let bed = Bed::get().await;
    for (number, group) in &bed.killed {
        moves_though_killed_after(bed, *number, group).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_follow_when_the_workload_namespace_is_taken_away_and_the_finalizer_stays_until_they_have() {
    let bed = Bed::get().await;
    let group = Group::create(bed.cluster, "follows", vec![Pipeline::new("p", 4).slow()]).await;
    let pods = bed.cluster.namespace("pods").await.unwrap();
    let roles = Roles {
        workload_namespace: Some(pods.clone()),
        full_name: "follows-there".to_owned(),
        ..bed.roles(&group, users::OPERATOR)
    };
    bed.cluster.install_roles(&roles).await.unwrap();
    let launch = bed.launch(&group, users::OPERATOR).await;
    let operator = launch.clone().with(&["--workload-namespace", &pods]).start().unwrap();
    moved(bed, &group, &operator).await;
    operator.terminate().unwrap();
    operator.wait().await.unwrap();

    let client = bed.cluster.admin().await.unwrap();
    let witness = Witness::begin(client, &[&pods, &group.namespace], bounds(&group)).await;
    let operator = launch.start().unwrap();
    let selector = format!("--selector=service={}", group.service);
    let look = async || {
        let there = [
            "get",
            "pods,configmaps",
            "--namespace",
            &pods,
            &selector,
            "--output=name",
        ];
        let left = bed.cluster.kubectl(&there).await?;
        let path = "jsonpath={.items[*].metadata.finalizers}{.items[*].status.availableReplicas}";
        let state = bed
            .cluster
            .kubectl(&["get", "spipe", "--namespace", &group.namespace, "--output", path])
            .await?;
        Ok(Seen::when((left, state), |(left, state)| {
            left.is_empty() && state == "4"
        }))
    };
    if let Err(error) = wait::until("the Pods to follow", SOON, look).await {
        panic!("{error:#}\n{}", operator.log_tail(40));
    }
    judge(witness);
    group.delete(bed.cluster, &group.namespace).await;
}
