//! The real operator as a child process, outside the cluster.
//!
//! Knows its command line and its probes, nothing of its code.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Result, bail};

use crate::children::Running;
use crate::control_plane::ControlPlane;
use crate::install::service_host;
use crate::wait::{self, Seen};
use crate::{http, ports, users, workdir};

/// How to start an operator.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program; an integration test of the operator's crate has it in `env!("CARGO_BIN_EXE_streaming-operator")`.
    pub binary: PathBuf,
    /// With which rights and through which address it speaks to the API server.
    pub kubeconfig: PathBuf,
    /// Its own namespace: Lease, Secret, and the Service in the name of its certificate.
    pub namespace: String,
    /// Where it serves admission.
    pub webhook_port: u16,
    /// Where it serves `/livez`, `/readyz`, `/metrics`.
    pub http_port: u16,
    /// Further arguments of `run`. One that is set here already is not set twice.
    pub arguments: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Where its output goes; appended to, so that a restart keeps what was said before.
    pub log: PathBuf,
}

impl Launch {
    /// `binary` with the rights of the user `operator`, on free ports.
    ///
    /// # Errors
    /// When there is no port or no folder for its log.
    pub fn new(binary: impl AsRef<Path>, cluster: &ControlPlane, namespace: &str) -> Result<Self> {
        Ok(Self {
            binary: binary.as_ref().to_owned(),
            kubeconfig: cluster.kubeconfig(users::OPERATOR)?,
            namespace: namespace.to_owned(),
            webhook_port: ports::free_port()?,
            http_port: ports::free_port()?,
            arguments: Vec::new(),
            environment: Vec::new(),
            log: workdir::workdir("operator")?.join("operator.log"),
        })
    }

    /// Adds arguments of `run`, as `["--shutdown-delay", "0s"]`.
    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// Speaks to the API server through another URL, as a rule that of a [`crate::proxy::Proxy`].
    ///
    /// # Errors
    /// When the kubeconfig cannot be written.
    pub fn via(mut self, cluster: &ControlPlane, url: &str) -> Result<Self> {
        self.kubeconfig = cluster.kubeconfig_via(users::OPERATOR, url)?;
        Ok(self)
    }

    /// Starts it; it may not be ready yet.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(&self) -> Result<Operator> {
        let process = Running::start("streaming-operator", &self.command(), &self.log)?;
        Ok(Operator {
            process,
            http_port: self.http_port,
            webhook_port: self.webhook_port,
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("run");
        for (flag, value) in [
            ("--namespace", self.namespace.clone()),
            ("--webhook-addr", format!("127.0.0.1:{}", self.webhook_port)),
            ("--http-addr", format!("127.0.0.1:{}", self.http_port)),
        ] {
            if !self.has(flag) {
                command.args([flag, &value]);
            }
        }
        // A list: further hosts are no replacement.
        command.args(["--tls-host", &service_host(&self.namespace), "--tls-host", "localhost"]);
        command.args(&self.arguments);
        command.env("KUBECONFIG", &self.kubeconfig);
        // Each flag can come from the environment too: a developer's shell must not change a test.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STREAMS_")) {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn has(&self, flag: &str) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.split('=').next() == Some(flag))
    }
}

/// A running operator; killed when dropped. Clones are handles of the same process.
#[derive(Clone, Debug)]
pub struct Operator {
    process: Running,
    http_port: u16,
    webhook_port: u16,
}

impl Operator {
    /// Waits until `/readyz` answers 200.
    ///
    /// # Errors
    /// When it ends or is not ready within a minute; the text has the end of its log.
    pub async fn ready(&self) -> Result<()> {
        let what = "the operator to be ready";
        let result = wait::until(what, wait::DEADLINE, async || {
            if let Some(status) = self.process.ended()? {
                return Ok(Seen::Yes(Some(status)));
            }
            let (code, body) = http::get(&self.url("/readyz")).await?;
            Ok(if code == 200 {
                Seen::Yes(None)
            } else {
                Seen::NotYet(format!("{code}: {body}"))
            })
        })
        .await;
        match result {
            Ok(None) => Ok(()),
            Ok(Some(status)) => bail!(
                "the operator ended with {status}; the end of its log:\n{}",
                self.log_tail(30)
            ),
            Err(error) => bail!("{error:#}; the end of its log:\n{}", self.log_tail(30)),
        }
    }

    /// The URL of a path on its plain port.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.http_port)
    }

    /// The text of `/metrics`.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn metrics(&self) -> Result<String> {
        Ok(http::get(&self.url("/metrics")).await?.1)
    }

    /// The port of its webhook.
    #[must_use]
    pub fn webhook_port(&self) -> u16 {
        self.webhook_port
    }

    /// The port of its probes and metrics.
    #[must_use]
    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    /// SIGKILL: it can finish nothing.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn kill9(&self) -> Result<()> {
        Ok(self.process.kill()?)
    }

    /// SIGTERM: the ordinary end.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn terminate(&self) -> Result<()> {
        Ok(self.process.terminate()?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it still runs after a minute.
    pub async fn wait(&self) -> Result<ExitStatus> {
        self.process.wait(wait::DEADLINE).await
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn ended(&self) -> Result<Option<ExitStatus>> {
        Ok(self.process.ended()?)
    }

    /// Its process, for a [`crate::proxy::Fault`] that kills it.
    #[must_use]
    pub fn process(&self) -> &Running {
        &self.process
    }

    /// The file with its output.
    #[must_use]
    pub fn log(&self) -> &Path {
        self.process.log()
    }

    /// The last `lines` of its output.
    #[must_use]
    pub fn log_tail(&self, lines: usize) -> String {
        self.process.tail(lines)
    }
}
