//! The program `devcluster`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use testkit::children::{self, Running};
use testkit::wait::{self, Seen};
use testkit::{assets, workdir};

fn devcluster(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_devcluster"));
    command.args(arguments).arg("--dir").arg(dir);
    command
}

/// Processes whose command line names the folder.
fn processes(dir: &Path) -> Vec<String> {
    let lines = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(dir.to_str().unwrap())).collect()
}

#[tokio::test]
async fn a_cluster_is_ready_to_use_and_ends_with_all_it_started_when_told() {
    let dir = workdir::workdir("devcluster").unwrap();
    let start = devcluster(&dir, &["up", "--no-operator", "--nodes", "1"]);
    let cluster = Running::start("devcluster", &start, &dir.join("log")).unwrap();
    let export = wait::until("readiness", Duration::from_secs(120), async || {
        anyhow::ensure!(cluster.ended()?.is_none(), "{}", cluster.tail(20));
        Ok(Seen::when(std::fs::read_to_string(dir.join("ready"))?, |text| {
            text.ends_with('\n')
        }))
    })
    .await
    .unwrap();
    let kubeconfig = dir.canonicalize().unwrap().join("admin.kubeconfig");
    assert_eq!(export, format!("export KUBECONFIG={}\n", kubeconfig.display()));

    let mut kubectl = Command::new(assets::asset("kubectl").unwrap());
    kubectl
        .env("KUBECONFIG", kubeconfig)
        .args(["get", "nodes,customresourcedefinitions", "--output=name"]);
    kubectl.arg("--cache-dir").arg(dir.join("cache"));
    let there = children::output(&kubectl).unwrap();
    assert_eq!(
        there,
        "node/node-0\ncustomresourcedefinition.apiextensions.k8s.io/rolloutanalyses.streams.sentry.io\n\
         customresourcedefinition.apiextensions.k8s.io/streamingpipelines.streams.sentry.io\n"
    );
    assert!(cluster.tail(5).ends_with("\nready"), "{}", cluster.tail(5));

    let second = children::outcome(&devcluster(&dir, &["up", "--no-operator"])).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("belongs to the cluster of process"));

    children::output(&devcluster(&dir, &["stop"])).unwrap();

    assert_eq!(cluster.wait(wait::DEADLINE).await.unwrap().code(), Some(0));
    assert_eq!(processes(&dir.join("control-plane")), Vec::<String>::new());
    assert!(!dir.join("pid").exists() && !dir.join("ready").exists());
    // Nothing to do is no failure.
    children::output(&devcluster(&dir, &["stop"])).unwrap();
}

#[tokio::test]
async fn an_operator_that_does_not_start_ends_the_cluster_and_its_words_are_told() {
    let dir = workdir::workdir("devcluster").unwrap();
    let binary = dir.join("stand-in");
    std::fs::write(&binary, "#!/bin/sh\necho no right to list pods >&2\nexit 4\n").unwrap();
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut start = devcluster(&dir, &["up", "--no-webhooks"]);
    start
        .arg("--operator")
        .arg(&binary)
        .args(["--", "--log-format", "json"]);
    let outcome = children::outcome(&start).unwrap();
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.status.code(), Some(1), "{said}");
    assert!(
        said.contains("exit status: 4") && said.contains("no right to list pods"),
        "{said}"
    );
    let folder = dir.join("control-plane");
    let gone = async || Ok(Seen::when(processes(&folder), Vec::is_empty));
    wait::until("the end of its processes", wait::DEADLINE, gone)
        .await
        .unwrap();
}
