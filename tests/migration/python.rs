//! The Python operator as a child process.

use std::path::PathBuf;
use std::process::Command;

use testkit::children::{self, Running};
use testkit::control_plane::ControlPlane;
use testkit::{assets, users, workdir};

/// The program; the first call installs it.
fn program() -> PathBuf {
    if let Some(given) = std::env::var_os("STREAMING_OPERATOR_PYTHON_OPERATOR") {
        return PathBuf::from(given);
    }
    let script = Command::new(assets::repository().join("tests/python-operator.sh"));
    let printed = children::output(&script).unwrap();
    PathBuf::from(printed.lines().last().expect("the program's path"))
}

/// Whose marks it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// The one that is installed.
    Latest,
    /// The same with the label and the annotations of earlier ones.
    Older,
}

/// Starts it: it looks after every pipeline of the cluster, and runs Deployments in `namespace`.
pub(crate) async fn start(cluster: &ControlPlane, namespace: &str, release: Release) -> Running {
    let program = tokio::task::spawn_blocking(program).await.unwrap();
    let mut command = match release {
        Release::Latest => Command::new(program),
        Release::Older => {
            let mut command = Command::new(program.with_file_name("python3"));
            command.arg(assets::repository().join("tests/migration/older-operator.py"));
            command
        }
    };
    command.env("WORKLOAD_NAMESPACE", namespace);
    command.env("KUBECONFIG", cluster.kubeconfig(users::ADMIN).unwrap());
    let log = workdir::workdir("python-operator").unwrap().join("operator.log");
    Running::start("streams-k8s-operator", &command, &log).unwrap()
}

/// Stops it, as a scale to zero of its own Deployment does.
pub(crate) async fn stop(operator: &Running) {
    operator.terminate().unwrap();
    operator.wait(testkit::wait::DEADLINE).await.unwrap();
}
