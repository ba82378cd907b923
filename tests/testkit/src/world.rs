//! The state of the world, for the one who reads why a test failed.
//!
//! Reads with kubectl and from files, never through the operator.

use std::path::PathBuf;

use crate::children;
use crate::control_plane::ControlPlane;

/// Lines of a log, and writes of the audit log, that are printed.
const TAIL: usize = 60;

/// Prints the world when the test that holds it panics.
///
/// A test that returns an error does not panic: `unwrap` what must not fail, or print [`Guard::world`].
#[derive(Debug)]
pub struct Guard<'a> {
    cluster: &'a ControlPlane,
    namespaces: Vec<String>,
    logs: Vec<PathBuf>,
}

impl<'a> Guard<'a> {
    /// Watches over a test that works in `namespace`.
    #[must_use]
    pub fn new(cluster: &'a ControlPlane, namespace: &str) -> Self {
        Self {
            cluster,
            namespaces: vec![namespace.to_owned()],
            logs: Vec::new(),
        }
    }

    /// Also of this namespace.
    #[must_use]
    pub fn and_namespace(mut self, namespace: &str) -> Self {
        self.namespaces.push(namespace.to_owned());
        self
    }

    /// Also the end of this log, as a rule the operator's.
    #[must_use]
    pub fn and_log(mut self, log: impl Into<PathBuf>) -> Self {
        self.logs.push(log.into());
        self
    }

    /// Pipelines with their status, Pods, config maps and Events of the namespaces, the ends of the logs, the last writes
    /// in the audit log. Blocks for about a second. What cannot be read is said in its place.
    #[must_use]
    pub fn world(&self) -> String {
        let mut text = String::new();
        for namespace in &self.namespaces {
            for what in [
                ["get", "streamingpipelines.streams.sentry.io", "--output=yaml"].as_slice(),
                &["get", "pods", "--output=wide", "--show-labels"],
                &["get", "configmaps,controllerrevisions"],
                &["get", "events.events.k8s.io"],
            ] {
                let arguments = [what, &["--namespace", namespace]].concat();
                section(
                    &mut text,
                    &format!("kubectl {}", arguments.join(" ")),
                    &self.kubectl(&arguments),
                );
            }
        }
        for log in &self.logs {
            section(
                &mut text,
                &format!("the end of {}", log.display()),
                &children::tail(log, TAIL),
            );
        }
        section(&mut text, "the last writes", &self.writes());
        text
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self
            .cluster
            .kubectl_command(arguments)
            .and_then(|command| children::outcome(&command));
        match output {
            Ok(output) => format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ),
            Err(error) => format!("{error:#}"),
        }
    }

    fn writes(&self) -> String {
        match self.cluster.audit().now() {
            Ok(records) => {
                let writes: Vec<_> = records
                    .iter()
                    .filter(|record| record.is_write())
                    .map(ToString::to_string)
                    .collect();
                writes
                    .iter()
                    .skip(writes.len().saturating_sub(TAIL))
                    .cloned()
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            Err(error) => format!("{error:#}"),
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.world());
        }
    }
}

fn section(text: &mut String, title: &str, content: &str) {
    for part in ["==== ", title, "\n", content.trim_end(), "\n"] {
        text.push_str(part);
    }
}
