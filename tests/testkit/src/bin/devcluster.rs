//! `devcluster`: a control plane with nodes and the operator beside it, for the demo and for a developer at the keyboard.
//!
//! Stays until SIGTERM, SIGINT or `devcluster stop`, and takes everything with it. Never touches the user's kubeconfig.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser, Subcommand};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use testkit::control_plane::{ControlPlane, Options};
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};
use testkit::{assets, users, workdir};
use tokio::signal::unix::{SignalKind, signal};

/// The namespace of the release, as in the documentation.
const NAMESPACE: &str = "streaming-operator";
/// The files in the folder of `--dir`.
const PID_FILE: &str = "pid";
const READY_FILE: &str = "ready";
const KUBECONFIG_FILE: &str = "admin.kubeconfig";
const CONTROL_PLANE_FOLDER: &str = "control-plane";

/// A Kubernetes control plane with simulated nodes and the operator beside it
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster, print how to use it and `ready`, and stay until told to end
    Up(Start),
    /// End the cluster that was started with this folder, and wait for that
    Stop {
        /// Its folder
        #[arg(long)]
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Start {
    /// The operator's program
    #[arg(long, required_unless_present = "no_operator")]
    operator: Option<PathBuf>,
    /// Only the cluster: CRDs, but no rights, no webhook configurations, no operator
    #[arg(long, conflicts_with = "operator")]
    no_operator: bool,
    /// Do not install the webhook configurations
    #[arg(long)]
    no_webhooks: bool,
    /// Simulated nodes
    #[arg(long, default_value_t = 2)]
    nodes: usize,
    /// Where logs, kubeconfig, `pid` and `ready` go, and stay; a temporary folder without it
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Further arguments of the operator's `run`
    #[arg(last = true)]
    arguments: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Up(options) => start(options).await,
        Command::Stop { dir } => stop(&dir).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("devcluster: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn start(options: Start) -> Result<()> {
    // From the first moment on: a signal must never meet the default, which would end us before the children.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let dir = claim(options.dir.as_deref())?;
    let run = run(&options, &dir);
    let end = tokio::select! {
        end = run => end,
        _ = terminate.recv() => Ok(None),
        _ = interrupt.recv() => Ok(None),
    };
    let end = match end {
        Ok(Some(up)) => {
            tokio::select! {
                () = up.watch() => {}
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            eprintln!("devcluster: stopping");
            up.stop().await
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    for file in [READY_FILE, PID_FILE] {
        std::fs::remove_file(dir.join(file)).ok();
    }
    end
}

/// Takes the folder for this process: refuses one that a living cluster has, and removes what a dead one left.
fn claim(dir: Option<&Path>) -> Result<PathBuf> {
    let dir = match dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
            dir.canonicalize()?
        }
        None => workdir::workdir("devcluster")?,
    };
    if let Some(id) = owner(&dir) {
        bail!(
            "{} belongs to the cluster of process {id}; `devcluster stop --dir {0}` ends it",
            dir.display()
        );
    }
    std::fs::remove_dir_all(dir.join(CONTROL_PLANE_FOLDER)).ok();
    std::fs::remove_file(dir.join(READY_FILE)).ok();
    std::fs::create_dir(dir.join(CONTROL_PLANE_FOLDER))?;
    std::fs::write(dir.join(PID_FILE), std::process::id().to_string())?;
    Ok(dir)
}

/// The process of the cluster that has this folder, if it lives.
fn owner(dir: &Path) -> Option<i32> {
    let id: i32 = std::fs::read_to_string(dir.join(PID_FILE)).ok()?.trim().parse().ok()?;
    // The number may be another process's by now.
    let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
    String::from_utf8_lossy(&line).contains("devcluster").then_some(id)
}

/// What runs once the cluster is up.
struct Up {
    cluster: ControlPlane,
    operator: Option<Operator>,
}

async fn run(options: &Start, dir: &Path) -> Result<Option<Up>> {
    let started = Instant::now();
    let say = |what: &str| eprintln!("devcluster: {what} ({:.1} s)", started.elapsed().as_secs_f64());
    let cluster = ControlPlane::start_in(dir.join(CONTROL_PLANE_FOLDER), Options::full(options.nodes)).await?;
    let kubeconfig = dir.join(KUBECONFIG_FILE);
    std::fs::copy(cluster.kubeconfig(users::ADMIN)?, &kubeconfig)?;
    say(&format!("control plane with {} nodes is up", options.nodes));
    cluster.install_crds(&assets::repository().join("crds")).await?;
    say("CRDs are installed");
    let operator = match &options.operator {
        None => None,
        Some(binary) => Some(start_operator(&cluster, binary, options, dir).await?),
    };
    if operator.is_some() {
        say("the operator is ready");
    }
    let export = format!("export KUBECONFIG={}", kubeconfig.display());
    // Renamed: who waits for the file must not find it empty.
    let new = dir.join(".ready.new");
    std::fs::write(&new, format!("{export}\n"))?;
    std::fs::rename(new, dir.join(READY_FILE))?;
    println!("{export}\nready");
    Ok(Some(Up { cluster, operator }))
}

async fn start_operator(cluster: &ControlPlane, binary: &Path, options: &Start, dir: &Path) -> Result<Operator> {
    let api: Api<Namespace> = Api::all(cluster.admin().await?);
    let metadata = ObjectMeta {
        name: Some(NAMESPACE.to_owned()),
        ..ObjectMeta::default()
    };
    api.create(
        &PostParams::default(),
        &Namespace {
            metadata,
            ..Namespace::default()
        },
    )
    .await?;
    cluster.install_roles(&Roles::everywhere(NAMESPACE)).await?;
    let mut launch = Launch::new(binary, cluster, NAMESPACE)?;
    launch.log = dir.join("operator.log");
    launch.arguments.clone_from(&options.arguments);
    if !options.no_webhooks {
        cluster
            .install_webhooks(&Webhooks::new(NAMESPACE, launch.webhook_port))
            .await?;
    }
    let operator = launch.start()?;
    operator.ready().await?;
    Ok(operator)
}

impl Up {
    /// Says when the operator ends, and leaves the cluster as it is: the one at the keyboard wants to look at it.
    async fn watch(&self) {
        let ended = async || Some(self.operator.as_ref()?.ended().ok()??);
        loop {
            if let (Some(status), Some(operator)) = (ended().await, &self.operator) {
                eprintln!(
                    "devcluster: the operator ended with {status}:\n{}",
                    operator.log_tail(20)
                );
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    }

    async fn stop(&self) -> Result<()> {
        if let Some(operator) = &self.operator {
            operator.terminate()?;
            operator.wait().await?;
        }
        self.cluster.stop().await
    }
}

async fn stop(dir: &Path) -> Result<()> {
    let Some(id) = owner(dir) else {
        eprintln!("devcluster: no cluster runs in {}", dir.display());
        return Ok(());
    };
    kill_process(Pid::from_raw(id).context("a process id of 0")?, Signal::TERM)?;
    let gone = wait::until("the cluster to end", Duration::from_secs(120), async || {
        Ok(Seen::when(owner(dir), Option::is_none))
    });
    ensure!(gone.await?.is_none());
    Ok(())
}
