//! The Python operator was stopped while a Deployment was in a rolling update that never ends: the image of the update
//! cannot be pulled, and the Pods of the one before serve.

use testkit::users;
use testkit::wait::{self, Seen};

use crate::bed::{Bed, Group, SOON};
use crate::takeover::{judge, moved, witness};

/// Of each Deployment its name without the service, its number and its available Pods; and of each Pod of ours its name.
async fn stand(bed: &Bed, group: &Group) -> anyhow::Result<String> {
    let selector = format!("--selector=service={}", group.service);
    let theirs = "jsonpath={range .items[*]}{.metadata.name}={.spec.replicas}:{.status.replicas}/{.status.availableReplicas} {end}";
    let ours = "jsonpath={range .items[*]}{.metadata.name} {end}";
    let get = async |what: &str, namespace: &str, path: &str| {
        let arguments = ["get", what, "--namespace", namespace, &selector, "--output", path];
        bed.cluster.kubectl(&arguments).await
    };
    let found = get("deployments", &bed.old, theirs).await? + &get("pods", &group.namespace, ours).await?;
    Ok(found
        .replace(&format!("{}-pipeline-", group.service), "")
        .trim()
        .to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_whose_rolling_update_hangs_is_set_back_to_the_pods_that_serve_and_moves() {
    let bed = Bed::get().await;
    let group = &bed.surging;
    let witness = witness(bed, group).await;
    let operator = bed.launch(group, users::OPERATOR).await.start().unwrap();

    // The image is in the spec too. One Pod of ours may be tried for each, beside all consumers that serve.
    let look = async || {
        let stand = stand(bed, group).await?;
        Ok(Seen::when(stand, |stand| {
            stand == "four-0=3:3/3 one-0=1:1/1 four-0-0-0 one-0-0-0"
        }))
    };
    if let Err(error) = wait::until("the first Pods of ours", SOON, look).await {
        panic!("{error:#}\n{}", operator.log_tail(60));
    }
    let path = r#"jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}"#;
    let look = async || {
        let told = bed
            .cluster
            .kubectl(&["get", "spipe", "--namespace", &group.namespace, "--output", path])
            .await?;
        let tells = |line: &&str| line.contains("ordinal 0") && line.contains("ImagePull");
        Ok(Seen::when(told, |told| told.lines().filter(tells).count() == 2))
    };
    wait::until("what hangs to be named", wait::DEADLINE, look)
        .await
        .unwrap();

    // A person mends the spec.
    group.edit(bed.cluster, "registry.example/consumer:2").await;
    moved(bed, group, &operator).await;
    judge(witness);
    group.delete(bed.cluster, &group.namespace).await;
}
