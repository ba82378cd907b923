//! The real helm, with and without a cluster.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use testkit::control_plane::ControlPlane;
use testkit::{assets, children, install, users, workdir};

/// The chart as it is in the repository.
pub(crate) fn chart() -> PathBuf {
    assets::repository().join("chart")
}

/// helm, with its own files in a folder that goes with the test.
fn helm(arguments: &[&str]) -> Command {
    let mut command = Command::new(assets::asset("helm").unwrap());
    let home = workdir::workdir("helm").unwrap();
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(variable, &home);
    }
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What helm says when it is content, with a few arguments before the chart and `arguments` after it.
pub(crate) fn with_chart(before: &[&str], arguments: &[&str]) -> Output {
    let chart = chart();
    let all = [before, &[chart.to_str().unwrap()], arguments].concat();
    children::outcome(&helm(&all)).unwrap()
}

/// The chart rendered for the release `streaming-operator` in the namespace `ops`.
pub(crate) fn template(arguments: &[&str]) -> String {
    let output = with_chart(&["template", "streaming-operator", "--namespace", "ops"], arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The objects of [`template`].
pub(crate) fn objects(arguments: &[&str]) -> Vec<Value> {
    install::documents(&template(arguments)).unwrap()
}

/// What helm says against `arguments`.
pub(crate) fn refusal(arguments: &[&str]) -> String {
    let output = with_chart(&["template", "streaming-operator", "--namespace", "ops"], arguments);
    assert!(!output.status.success(), "{arguments:?} are not refused");
    text(&output.stderr)
}

/// The objects of a kind.
pub(crate) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// The one object of a kind with a name.
pub(crate) fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found: Vec<_> = of_kind(objects, kind)
        .into_iter()
        .filter(|object| object["metadata"]["name"] == name)
        .collect();
    assert_eq!(found.len(), 1, "{kind} {name}");
    found[0]
}

/// The arguments of the operator in the rendered or live Deployment.
pub(crate) fn arguments_of(deployment: &Value) -> Vec<String> {
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array();
    let text = |argument: &Value| argument.as_str().expect("text").to_owned();
    arguments.expect("arguments").iter().map(text).collect()
}

async fn outcome(cluster: &ControlPlane, arguments: &[&str]) -> Output {
    let mut command = helm(arguments);
    command.env("KUBECONFIG", cluster.kubeconfig(users::ADMIN).unwrap());
    let ran = tokio::task::spawn_blocking(move || children::outcome(&command));
    ran.await.unwrap().unwrap()
}

/// What helm says against `arguments` on a cluster, as `admin`.
pub(crate) async fn refused(cluster: &ControlPlane, arguments: &[&str]) -> String {
    let output = outcome(cluster, arguments).await;
    assert!(!output.status.success(), "helm {arguments:?} is not refused");
    text(&output.stderr)
}

/// helm against a cluster, as `admin`.
pub(crate) async fn run(cluster: &ControlPlane, arguments: &[&str]) -> String {
    let output = outcome(cluster, arguments).await;
    assert!(
        output.status.success(),
        "helm {arguments:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// A copy of the chart in which `change` has changed the text of a file.
pub(crate) fn changed_chart(file: &str, change: impl FnOnce(&str) -> String) -> PathBuf {
    let copy = workdir::workdir("chart").unwrap().join("chart");
    copy_folder(&chart(), &copy);
    let path = copy.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "{file}");
    std::fs::write(path, changed).unwrap();
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
