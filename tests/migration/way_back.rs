//! The way back to the Python operator: what docs/migrate.md tells a person to type, typed.

use std::process::Command;

use testkit::control_plane::ControlPlane;
use testkit::operator::Operator;
use testkit::{assets, children, users};

use crate::bed::Group;
use crate::python::{self, Release};

/// The commands of a section of docs/migrate.md, block by block.
fn commands(section: &str) -> Vec<String> {
    let text = std::fs::read_to_string(assets::repository().join("docs/migrate.md")).unwrap();
    let (_, section) = text.split_once(&format!("\n## {section}\n")).expect("the section");
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

/// Types a block into a shell.
async fn run(cluster: &ControlPlane, block: &str) -> String {
    let mut command = Command::new("sh");
    let kubectl = assets::asset("kubectl").unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(["-e", "-c", block]);
    command.env("PATH", format!("{}:{path}", kubectl.parent().unwrap().display()));
    command.env("KUBECONFIG", cluster.kubeconfig(users::ADMIN).unwrap());
    // kubectl keeps discovery in the home folder.
    command.env("HOME", cluster.folder());
    let told = tokio::task::spawn_blocking(move || children::output(&command))
        .await
        .unwrap()
        .unwrap();
    println!("{block}{told}");
    told
}

/// Goes it, whatever is moved by now. At the end the Python operator runs all consumers, and none is ours.
pub(crate) async fn go(
    cluster: &ControlPlane,
    group: &Group,
    old: &str,
    operator: Operator,
    release: Release,
) -> children::Running {
    let blocks = commands("The way back");
    let [uninstall, finalizers, scale, look, delete] = blocks.as_slice() else {
        panic!("other commands than this test knows: {blocks:#?}");
    };
    // There is no release of a chart here, and no Deployment of an operator: both are processes.
    assert!(uninstall.starts_with("helm uninstall streaming-operator --namespace streaming-operator --wait\n"));
    operator.terminate().unwrap();
    operator.wait().await.unwrap();
    run(cluster, finalizers).await;
    assert!(scale.starts_with("kubectl scale deployment streaming-operator --namespace NAMESPACE --replicas=1\n"));
    let theirs = python::start(cluster, old, release).await;
    group.until_run_by_deployments(cluster, old).await;
    let told = run(cluster, &look.replace("streaming-pipelines", old)).await;
    let deployments = told.lines().filter(|line| line.starts_with(&group.service)).count();
    assert_eq!(deployments, group.pipelines.len(), "{told}");
    run(cluster, delete).await;

    for pipeline in group.objects(cluster).await.unwrap() {
        let metadata = pipeline["metadata"].to_string();
        assert!(metadata.contains("\"kopf.zalando.org/"), "{metadata}");
        assert!(!metadata.contains("streams.sentry.io/cleanup"), "{metadata}");
    }
    let ours = "--selector=streams.sentry.io/managed-by=streaming-operator";
    let kinds = "pods,configmaps,controllerrevisions";
    let left = cluster
        .kubectl(&["get", kinds, "--all-namespaces", ours, "--output=name"])
        .await;
    assert_eq!(left.unwrap(), "");
    group.until_run_by_deployments(cluster, old).await;
    theirs
}
