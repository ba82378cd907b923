//! The commands of docs/rollouts.md that bring an earlier revision back, run as they stand there.

use std::process::Command;

use serde_json::json;
use testkit::{assets, children, users, workdir};

use super::bed::{Bed, image, pipeline};

/// The first block of shell commands below a heading of docs/rollouts.md.
fn commands_below(heading: &str) -> String {
    let page = std::fs::read_to_string(assets::repository().join("docs/rollouts.md")).unwrap();
    let section = page
        .split_once(heading)
        .unwrap_or_else(|| panic!("no heading {heading}"))
        .1;
    let block = section.split_once("```sh\n").unwrap().1;
    block.split_once("```").unwrap().0.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_of_a_revision_brings_its_spec_back_and_leaves_what_is_no_part_of_it() {
    let bed = Bed::start("undo", &[]).await;
    let mut first = pipeline(&bed.namespace, "p", 2);
    first["spec"]["pipeline_config"]["env"] = json!({"MODE": "first"});
    bed.apply(&[first]).await;
    let before = bed.until_ready("p").await;
    let revision = before["status"]["currentRevision"].as_str().unwrap();
    // What a merge would leave behind, and what is to stay.
    bed.edit(
        "p",
        json!({"spec": {
            "image_name": "registry.example/consumer:2",
            "pipeline_config": {"env": {"MODE": "second", "MORE": "yes"}},
            "emergency_patch": {"spec": {"template": {"metadata": {"labels": {"urgent": "yes"}}}}},
            "replicas": 3, "rollout": {"maxUnavailable": 2},
        }}),
    )
    .await;
    bed.until_ready("p").await;

    let kubeconfig = workdir::workdir("undo").unwrap().join("kubeconfig");
    std::fs::copy(bed.cluster.kubeconfig(users::ADMIN).unwrap(), &kubeconfig).unwrap();
    let mut script = Command::new("bash");
    let namespace = format!("kubectl config set-context --current --namespace={}\n", bed.namespace);
    let commands = commands_below("## Going back to an earlier revision");
    script
        .args(["-euc", &(namespace + &commands)])
        .env("NAME", "p")
        .env("REVISION", revision);
    let path = std::env::var("PATH").unwrap_or_default();
    let kubectl = assets::asset("kubectl").unwrap();
    script.env("PATH", format!("{}:{path}", kubectl.parent().unwrap().display()));
    script.env("KUBECONFIG", &kubeconfig);
    let said = tokio::task::spawn_blocking(move || children::output(&script))
        .await
        .unwrap()
        .unwrap();
    assert!(said.contains("patched"), "{said}");

    let after = bed.until_ready("p").await;
    assert_eq!(after["status"]["currentRevision"], revision);
    assert_eq!(after["spec"]["pipeline_config"], before["spec"]["pipeline_config"]);
    assert_eq!(after["spec"]["emergency_patch"], json!(null));
    assert_eq!(after["spec"]["replicas"], json!(3));
    assert_eq!(after["spec"]["rollout"]["maxUnavailable"], json!(2));
    // The edit back is no new revision: what was stored is used again.
    assert_eq!(bed.list("controllerrevisions").await.len(), 2);
    bed.edit("p", image("9")).await;
    bed.until_ready("p").await;
}
