//! The program at a person's keyboard, with a kubeconfig.

use std::path::Path;
use std::process::{Command, Output};

use testkit::children;
use testkit::control_plane::ControlPlane;
use testkit::users;

/// What came of running it.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The lines of `check` that say so of this part, each with what to do.
    pub(crate) fn lines(&self, word: &str, check: &str) -> Vec<String> {
        let start = format!("{word:<8} {check:<12} ");
        let mut lines = self.stdout.lines().peekable();
        let mut found = Vec::new();
        while let Some(line) = lines.next() {
            if let Some(text) = line.strip_prefix(&start) {
                let todo = lines.next_if(|line| line.trim_start().starts_with("do: "));
                found.push(format!("{text} {}", todo.unwrap_or_default().trim()));
            }
        }
        found
    }
}

/// Runs the program with a kubeconfig.
pub(crate) async fn run_with(kubeconfig: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    // A variable of the developer's shell must not change a test.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STREAMS_")) {
        command.env_remove(name);
    }
    let ran = tokio::task::spawn_blocking(move || children::outcome(&command));
    let Output { status, stdout, stderr } = ran.await.unwrap().unwrap();
    Ran {
        code: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// Runs it as `admin`.
pub(crate) async fn run(cluster: &ControlPlane, arguments: &[&str]) -> Ran {
    run_with(&cluster.kubeconfig(users::ADMIN).unwrap(), arguments).await
}
