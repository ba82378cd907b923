//! Disruption budgets and `kubectl drain`, with the controller of kube-controller-manager, where the Pods are in the
//! pipeline's namespace and where they are in another.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, pipeline};
use super::pods::{Pods, is_ready};

const REPLICAS: u16 = 6;

/// A pipeline whose Pods the scheduler spreads over the nodes, so that each has some.
fn spread(namespace: &str) -> Value {
    let mut pipeline = pipeline(namespace, "p", REPLICAS);
    pipeline["spec"]["deployment_template"] = json!({"spec": {"template": {"spec": {"topologySpreadConstraints": [{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"pipeline": "p"}},
    }]}}}});
    pipeline
}

fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// A budget over the Pods of a pipeline, and wait until its controller has counted them.
async fn budget(bed: &Bed, namespace: &str, pipeline: &Value, rule: Value) {
    let (key, uid) = ("streams.sentry.io/owner-uid", &pipeline["metadata"]["uid"]);
    let mut spec = rule;
    spec["selector"] = json!({"matchLabels": {key: uid}});
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "p", "namespace": namespace}, "spec": spec,
    });
    bed.apply(&[budget]).await;
    let look = async || {
        let of = [
            "get",
            "poddisruptionbudget",
            "p",
            "--namespace",
            namespace,
            "--output=json",
        ];
        let text = bed.cluster.kubectl(&of).await?;
        let budget: Value = serde_json::from_str(&text)?;
        Ok(Seen::when(budget, |budget| {
            let status = &budget["status"];
            status["expectedPods"] == json!(REPLICAS) && status["disruptionsAllowed"] == json!(1)
        }))
    };
    wait::until("the budget to allow one disruption", SOON, look)
        .await
        .unwrap();
}

/// Drains a node of the Pods of a pipeline, and says what kubectl said.
async fn drain(bed: &Bed, node: &str, pipeline: &Value, further: &[&str]) -> anyhow::Result<String> {
    let uid = pipeline["metadata"]["uid"].as_str().unwrap();
    let pods = format!("--pod-selector=streams.sentry.io/owner-uid={uid}");
    let arguments = ["drain", node, "--delete-emptydir-data", "--timeout=90s", &pods];
    bed.cluster.kubectl(&[&arguments, further].concat()).await
}

/// The budget holds through a drain of one node, and the Pods come back on others.
async fn drained(bed: &Bed, namespace: &str, target: &str, further: &[&str]) {
    let pods = Pods::watch(&bed.admin, namespace);
    let all_ready = async || {
        let there = pods.now();
        let nodes: BTreeSet<_> = there.iter().filter(|pod| is_ready(pod)).filter_map(node).collect();
        let ready = there.iter().filter(|pod| is_ready(pod)).count();
        Ok(Seen::when((ready, nodes.contains(target)), |seen| {
            *seen == (usize::from(REPLICAS), true)
        }))
    };
    wait::until("Pods on the node", SOON, all_ready).await.unwrap();
    pods.fewest_ready("p");
    let pipeline = bed.pipeline("p").await;
    let said = drain(bed, target, &pipeline, further).await;
    bed.cluster.kubectl(&["uncordon", target]).await.unwrap();
    said.unwrap();
    let fewest = pods.fewest_ready("p");
    assert!(
        fewest >= usize::from(REPLICAS) - 1,
        "{fewest} Ready Pods, the budget allows {}",
        REPLICAS - 1
    );
    bed.until_ready("p").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_keeps_the_disruption_budget_and_the_pods_come_back_elsewhere() {
    let bed = Bed::start("drain", &[]).await;
    bed.apply(&[spread(&bed.namespace)]).await;
    let ready = bed.until_ready("p").await;
    // A percentage is of what the scale of the pipeline says: its Pods name it as their controller.
    budget(&bed, &bed.namespace, &ready, json!({"maxUnavailable": "15%"})).await;
    drained(&bed, &bed.namespace, "node-0", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_of_pods_in_another_namespace_keeps_the_budget_and_wants_force() {
    let workloads = super::bed::namespace("workloads").await;
    let bed = Bed::start("drain-remote", &["--workload-namespace", &workloads]).await;
    bed.apply(&[spread(&bed.namespace)]).await;
    let ready = bed.until_ready("p").await;
    // No owner can be named across namespaces, so a percentage has nothing that it is of.
    budget(&bed, &workloads, &ready, json!({"minAvailable": REPLICAS - 1})).await;
    let refused = drain(&bed, "node-1", &ready, &[]).await;
    bed.cluster.kubectl(&["uncordon", "node-1"]).await.unwrap();
    let refused = format!("{:#}", refused.unwrap_err());
    assert!(
        refused.contains("declare no controller (use --force to override)"),
        "{refused}"
    );
    drained(&bed, &workloads, "node-1", &["--force"]).await;
}
