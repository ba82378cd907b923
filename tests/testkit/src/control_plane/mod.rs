//! A real control plane on loopback ports: etcd and kube-apiserver, and on request the controller manager, the scheduler
//! and kwok with nodes.
//!
//! A test binary has one ([`Shared`]), each of its tests a namespace of its own. Nothing here belongs to an async
//! runtime, so that it outlives the test that came first; clients do, so each test makes its own.

mod servers;
mod stored;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::OnceCell;

use crate::audit::Audit;
use crate::children::{self, Running};
use crate::users::{self, Users};
use crate::{assets, pki, ports, stages, workdir};

/// Well beyond the 4 s that a start takes on two idle processors.
const START: Duration = Duration::from_secs(90);

/// What is wanted beside etcd and the API server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Garbage collection, namespace deletion, Deployments, disruption budgets, node life cycle.
    pub controller_manager: bool,
    /// Binds Pods to nodes. Wanted with kwok: it plays only Pods that have a node.
    pub scheduler: bool,
    /// So many nodes `node-0`, `node-1`, …, played by kwok. Without any, kwok does not run, and Pods stay as they are
    /// created unless a test writes their status ([`crate::pods`]).
    pub nodes: usize,
}

impl Options {
    /// Everything, with `nodes` nodes: Pods come to life.
    #[must_use]
    pub const fn full(nodes: usize) -> Self {
        Self {
            controller_manager: true,
            scheduler: true,
            nodes,
        }
    }

    /// Only etcd and the API server: the quickest.
    #[must_use]
    pub const fn api_server() -> Self {
        Self {
            controller_manager: false,
            scheduler: false,
            nodes: 0,
        }
    }
}

/// The control plane of a test binary: started by the first test that asks, ended by the end of the process.
///
/// `static CLUSTER: Shared = Shared::new(Options::full(2));`, and in each test `CLUSTER.get().await?`.
#[derive(Debug)]
pub struct Shared {
    options: Options,
    cell: OnceCell<ControlPlane>,
}

impl Shared {
    /// Starts nothing yet.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self {
            options,
            cell: OnceCell::const_new(),
        }
    }

    /// The control plane, when it answers.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn get(&self) -> Result<&ControlPlane> {
        self.cell.get_or_try_init(|| ControlPlane::start(self.options)).await
    }
}

/// `kubectl delete` waits for as long as something holds the object: a test must fail before its reader loses patience.
const KUBECTL_TIMEOUT: Duration = Duration::from_secs(120);

/// A running control plane. Dropping it ends its processes.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    url: String,
    etcd_url: String,
    users: Users,
    audit: Audit,
    /// In the order in which they end: those that would complain about a missing API server first.
    children: Vec<Running>,
}

impl ControlPlane {
    /// Starts the servers and waits until they answer and the nodes are ready.
    ///
    /// # Errors
    /// When the binaries cannot be built, or a server ends or does not answer; the text has the end of its log.
    pub async fn start(options: Options) -> Result<Self> {
        Self::start_in(workdir::workdir("control-plane")?, options).await
    }

    /// As [`ControlPlane::start`], with its files in `folder`, which exists and stays.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn start_in(folder: PathBuf, options: Options) -> Result<Self> {
        // A first call may build the binaries, for minutes: not on a thread of the runtime.
        tokio::task::spawn_blocking(|| assets::asset("kube-apiserver")).await??;
        let users = Users::new();
        std::fs::write(folder.join(servers::TOKEN_FILE), users.token_file())?;
        pki::write(&folder)?;
        let (etcd, etcd_url) = servers::etcd(&folder, ports::free_port, START).await?;
        let (api_server, url) = servers::api_server(&folder, &etcd_url, &users, ports::free_port, START).await?;
        let audit = Audit::new(folder.join(servers::AUDIT_FILE));
        let mut plane = Self {
            folder,
            url,
            etcd_url,
            users,
            audit,
            children: vec![api_server, etcd],
        };
        plane.start_rest(options).await?;
        Ok(plane)
    }

    async fn start_rest(&mut self, options: Options) -> Result<()> {
        if options.controller_manager {
            let kubeconfig = self.kubeconfig(users::CONTROLLER_MANAGER)?;
            self.children
                .insert(0, servers::controller_manager(&self.folder, &kubeconfig)?);
        }
        if options.scheduler {
            let kubeconfig = self.kubeconfig(users::SCHEDULER)?;
            self.children.insert(0, servers::scheduler(&self.folder, &kubeconfig)?);
        }
        if options.nodes > 0 {
            let stages = self.folder.join("stages.yaml");
            std::fs::write(&stages, stages::all()?)?;
            let kubeconfig = self.kubeconfig(users::KWOK)?;
            self.children
                .insert(0, servers::kwok(&self.folder, &kubeconfig, &stages)?);
            servers::nodes(&self.admin().await?, options.nodes, START).await?;
        }
        Ok(())
    }

    /// Starts the controller manager of a control plane that was started without, for who installs kinds first: it learns
    /// of new ones only every 30 s. It ends when the answer is dropped.
    ///
    /// # Errors
    /// When its kubeconfig cannot be written or it cannot be started.
    pub fn start_controller_manager(&self) -> Result<Running> {
        servers::controller_manager(&self.folder, &self.kubeconfig(users::CONTROLLER_MANAGER)?)
    }

    /// Ends the servers in order and waits for that.
    ///
    /// # Errors
    /// When one does not end within a minute.
    pub async fn stop(&self) -> Result<()> {
        for child in &self.children {
            child.terminate()?;
            child.wait(Duration::from_secs(60)).await?;
        }
        Ok(())
    }

    /// The URL of the API server.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder with its files and logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the certificate of its authority.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.folder.join(pki::CA_FILE)
    }

    /// The witness of who did what.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Its processes: scheduler, controller manager, kwok where wanted, `kube-apiserver`, `etcd`.
    #[must_use]
    pub fn children(&self) -> &[Running] {
        &self.children
    }

    /// A kubeconfig file of a user (constants of [`crate::users`]) that names the API server.
    ///
    /// # Errors
    /// When the user does not exist or the file cannot be written.
    pub fn kubeconfig(&self, user: &str) -> Result<PathBuf> {
        self.write_kubeconfig(user, &self.url, &format!("{}.kubeconfig", user.replace(':', "-")))
    }

    /// A kubeconfig file of a user that names another URL, as a rule that of a [`crate::proxy::Proxy`].
    ///
    /// # Errors
    /// As [`ControlPlane::kubeconfig`].
    pub fn kubeconfig_via(&self, user: &str, url: &str) -> Result<PathBuf> {
        let port = url.rsplit(':').next().unwrap_or_default();
        self.write_kubeconfig(user, url, &format!("{}-via-{port}.kubeconfig", user.replace(':', "-")))
    }

    fn write_kubeconfig(&self, user: &str, url: &str, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let text = self.users.kubeconfig(user, url, &self.ca_file())?;
        // Two tests may write the same file while a third reads it: rename, so that nobody sees half of it.
        let new = tempfile::Builder::new().tempfile_in(&self.folder)?;
        std::fs::write(new.path(), text)?;
        new.persist(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// A client of `admin`, who may do everything.
    ///
    /// # Errors
    /// When its kubeconfig cannot be written.
    pub async fn admin(&self) -> Result<kube::Client> {
        self.user(users::ADMIN).await
    }

    /// A client of a user (constants of [`crate::users`]).
    ///
    /// # Errors
    /// When the user does not exist.
    pub async fn user(&self, name: &str) -> Result<kube::Client> {
        users::client(&self.kubeconfig(name)?).await
    }

    /// A new namespace whose name begins with `prefix`; the API server makes the rest up.
    ///
    /// # Errors
    /// When it cannot be created.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let mut namespace = Namespace::default();
        namespace.metadata.generate_name = Some(format!("{prefix}-"));
        let api: Api<Namespace> = Api::all(self.admin().await?);
        let created = api
            .create(&PostParams::default(), &namespace)
            .await
            .context("cannot create a namespace")?;
        created.metadata.name.context("a namespace without a name")
    }

    /// Runs kubectl as `admin` and gives its stdout.
    ///
    /// # Errors
    /// When it exits with another code than 0; the text has its stderr.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let command = self.kubectl_command(arguments)?;
        let ran = tokio::task::spawn_blocking(move || children::output(&command));
        let ended = tokio::time::timeout(KUBECTL_TIMEOUT, ran).await;
        ended.with_context(|| format!("kubectl {} did not end within {KUBECTL_TIMEOUT:?}", arguments.join(" ")))??
    }

    /// The command that [`ControlPlane::kubectl`] runs.
    ///
    /// # Errors
    /// When kubectl is not there or the kubeconfig cannot be written.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(assets::asset("kubectl")?);
        command.arg("--kubeconfig").arg(self.kubeconfig(users::ADMIN)?);
        // kubectl keeps discovery in the home folder; two control planes must not share that.
        command.arg("--cache-dir").arg(self.folder.join("kubectl-cache"));
        command.args(arguments);
        Ok(command)
    }
}
