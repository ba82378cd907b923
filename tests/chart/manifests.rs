//! `make manifests`: the same as the chart installs, as one plain file.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{assets, children, install, workdir};

use crate::helm::{named, objects};
use crate::rights::cluster;

fn manifests(folder: &Path) -> String {
    let mut command = Command::new(assets::repository().join("tests/manifests.sh"));
    command.env("CARGO_TARGET_DIR", folder).env("NAMESPACE", "ops");
    children::output(&command).unwrap();
    std::fs::read_to_string(folder.join("install.yaml")).unwrap()
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
    let mut names: Vec<_> = objects.iter().map(name).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plain_file_is_what_the_chart_installs_and_the_api_server_takes_it() {
    let cluster = cluster().await;
    let folder = workdir::workdir("manifests").unwrap();
    let text = manifests(&folder);
    assert!(!text.contains("caBundle"));
    let plain = install::documents(&text).unwrap();
    let mut of_the_chart = objects(&["--no-hooks"]);
    let namespace = named(&plain, "Namespace", "ops");
    assert_eq!(
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
        "restricted"
    );
    of_the_chart.push(namespace.clone());
    assert_eq!(names(&plain), names(&of_the_chart));
    for object in &of_the_chart {
        assert!(plain.contains(object), "{}", object["metadata"]["name"]);
    }

    // Nothing in a dry run is there for the next object: the namespace has to be.
    cluster.apply(std::slice::from_ref(namespace)).await.unwrap();
    let file = folder.join("install.yaml");
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--dry-run=server",
        "--filename",
    ];
    cluster
        .kubectl(&[&apply[..], &[file.to_str().unwrap()]].concat())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn kustomize_patches_it() {
    let cluster = cluster().await;
    let folder = workdir::workdir("kustomize").unwrap();
    manifests(&folder);
    let kustomization = r"
resources: [install.yaml]
images: [{name: streaming-operator, newName: registry.example/streaming-operator, newTag: '7'}]
replicas: [{name: streaming-operator, count: 3}]
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --log-format=json}
";
    std::fs::write(folder.join("kustomization.yaml"), kustomization).unwrap();
    let built = cluster.kubectl(&["kustomize", folder.to_str().unwrap()]).await.unwrap();
    let built = install::documents(&built).unwrap();
    let spec = &named(&built, "Deployment", "streaming-operator")["spec"];
    assert_eq!(spec["replicas"], 3);
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example/streaming-operator:7");
    let last = container["args"].as_array().and_then(|arguments| arguments.last());
    assert_eq!(last.expect("arguments"), "--log-format=json");
}
