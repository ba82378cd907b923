//! Starts each server of a control plane and knows when it is up.
//!
//! The ports of etcd and of the API server are picked before they are bound, so another process can come first: a
//! server that ends because of that is started again on other ports.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};

use crate::children::Running;
use crate::users::Users;
use crate::wait::{self, Seen};
use crate::{assets, pki, users};

/// Users and tokens.
pub(super) const TOKEN_FILE: &str = "tokens.csv";
/// The audit log.
pub(super) const AUDIT_FILE: &str = "audit.log";

/// Tries of a server whose port was taken; a second one is rare already.
const ATTEMPTS: usize = 5;
/// What Go's net package says when a port is taken.
const PORT_TAKEN: &str = "address already in use";

/// How long a starting server may take to say whether it is ready.
const QUESTION: Duration = Duration::from_secs(2);

/// Which requests the audit log keeps.
const AUDIT_POLICY: &str = include_str!("audit-policy.yaml");

/// etcd, and its URL for clients. `port` gives the ports to try.
pub(super) async fn etcd(
    folder: &Path,
    mut port: impl FnMut() -> Result<u16>,
    deadline: Duration,
) -> Result<(Running, String)> {
    let program = assets::asset("etcd")?;
    for _ in 0..ATTEMPTS {
        let client = format!("http://127.0.0.1:{}", port()?);
        let peer = format!("http://127.0.0.1:{}", port()?);
        let mut command = Command::new(&program);
        command.arg("--data-dir").arg(folder.join("etcd"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]);
        // What is lost with the machine is only a test's data.
        command.arg("--unsafe-no-fsync");
        let running = Running::start("etcd", &command, &folder.join("etcd.log"))?;
        // The log, not the port: on the port somebody else might answer.
        if up(&running, deadline, async || {
            running.tail(1000).contains("ready to serve client requests")
        })
        .await?
        {
            return Ok((running, client));
        }
        // A member remembers the URLs of its peers: begin from nothing.
        std::fs::remove_dir_all(folder.join("etcd")).ok();
        std::fs::remove_file(running.log())?;
    }
    bail!("etcd found no free port in {ATTEMPTS} attempts")
}

/// The API server, and its URL. `port` gives the ports to try.
pub(super) async fn api_server(
    folder: &Path,
    etcd: &str,
    users: &Users,
    mut port: impl FnMut() -> Result<u16>,
    deadline: Duration,
) -> Result<(Running, String)> {
    let policy = folder.join("audit-policy.yaml");
    std::fs::write(&policy, AUDIT_POLICY)?;
    let program = assets::asset("kube-apiserver")?;
    for _ in 0..ATTEMPTS {
        let port = port()?;
        let mut command = Command::new(&program);
        command.args([
            "--etcd-servers",
            etcd,
            "--bind-address",
            "127.0.0.1",
            "--secure-port",
            &port.to_string(),
        ]);
        command.arg("--cert-dir").arg(folder.join("certs"));
        command
            .arg("--tls-cert-file")
            .arg(folder.join(pki::SERVER_CERTIFICATE_FILE));
        command
            .arg("--tls-private-key-file")
            .arg(folder.join(pki::SERVER_KEY_FILE));
        command.arg("--token-auth-file").arg(folder.join(TOKEN_FILE));
        command
            .arg("--service-account-key-file")
            .arg(folder.join(pki::SERVICE_ACCOUNT_PUBLIC_KEY_FILE));
        command
            .arg("--service-account-signing-key-file")
            .arg(folder.join(pki::SERVICE_ACCOUNT_KEY_FILE));
        command.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
        command.args([
            "--authorization-mode",
            "RBAC",
            "--service-cluster-ip-range",
            "10.0.0.0/24",
        ]);
        command.args(["--endpoint-reconciler-type", "none"]);
        // Nothing makes the service account `default` of a namespace here; without it no Pod would be admitted.
        command.args(["--disable-admission-plugins", "ServiceAccount"]);
        command.arg("--audit-policy-file").arg(&policy);
        command.arg("--audit-log-path").arg(folder.join(AUDIT_FILE));
        // In megabytes: never rotated, the whole log is the witness.
        command.args(["--audit-log-maxsize", "100000"]);
        let running = Running::start("kube-apiserver", &command, &folder.join("kube-apiserver.log"))?;
        let url = format!("https://127.0.0.1:{port}");
        let kubeconfig = folder.join("start.kubeconfig");
        std::fs::write(
            &kubeconfig,
            users.kubeconfig(users::ADMIN, &url, &folder.join(pki::CA_FILE))?,
        )?;
        let client = users::client(&kubeconfig).await?;
        if up(&running, deadline, async || ready(&client).await).await? {
            return Ok((running, url));
        }
        std::fs::remove_file(running.log())?;
    }
    bail!("kube-apiserver found no free port in {ATTEMPTS} attempts")
}

async fn ready(client: &Client) -> bool {
    let Ok(request) = http_get("/readyz") else { return false };
    client.request_text(request).await.is_ok_and(|text| text == "ok")
}

fn http_get(path: &str) -> Result<hyper::Request<Vec<u8>>> {
    Ok(hyper::Request::get(path).body(Vec::new())?)
}

/// Waits until a server is up; `false` when it ended because its port was taken.
async fn up(running: &Running, deadline: Duration, is_up: impl AsyncFn() -> bool) -> Result<bool> {
    enum End {
        Up,
        PortTaken,
        Failed,
    }
    let end = wait::until(&format!("start of {}", running.name()), deadline, async || {
        match running.ended()? {
            // Somebody else may hold the port and say nothing: each question has its own end.
            None => Ok(match tokio::time::timeout(QUESTION, is_up()).await {
                Ok(true) => Seen::Yes(End::Up),
                Ok(false) | Err(_) => Seen::NotYet(running.tail(20)),
            }),
            Some(_) if running.tail(1000).contains(PORT_TAKEN) => Ok(Seen::Yes(End::PortTaken)),
            Some(_) => Ok(Seen::Yes(End::Failed)),
        }
    })
    .await?;
    ensure!(
        !matches!(end, End::Failed),
        "{} ended at its start; the end of its log:\n{}",
        running.name(),
        running.tail(30)
    );
    Ok(matches!(end, End::Up))
}

/// The controllers that matter to the operator. No service accounts: their admission is off.
pub(super) fn controller_manager(folder: &Path, kubeconfig: &Path) -> Result<Running> {
    const CONTROLLERS: &str = "deployment-controller,replicaset-controller,garbage-collector-controller,\
        namespace-controller,node-lifecycle-controller,taint-eviction-controller,disruption-controller,\
        pod-garbage-collector-controller,horizontal-pod-autoscaler-controller,\
        clusterrole-aggregation-controller,resourcequota-controller";
    let mut command = Command::new(assets::asset("kube-controller-manager")?);
    command.arg("--kubeconfig").arg(kubeconfig);
    command.args([
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
    ]);
    command.arg(format!("--controllers={CONTROLLERS}"));
    // Every 15 s otherwise.
    command.arg("--horizontal-pod-autoscaler-sync-period=1s");
    Running::start(
        "kube-controller-manager",
        &command,
        &folder.join("kube-controller-manager.log"),
    )
}

/// The scheduler.
pub(super) fn scheduler(folder: &Path, kubeconfig: &Path) -> Result<Running> {
    let config = folder.join("scheduler.json");
    let text = serde_json::json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": { "leaderElect": false },
        "clientConnection": { "kubeconfig": kubeconfig, "qps": 2000, "burst": 4000 },
    });
    std::fs::write(&config, text.to_string())?;
    let mut command = Command::new(assets::asset("kube-scheduler")?);
    command.arg("--config").arg(config).arg("--secure-port=0");
    Running::start("kube-scheduler", &command, &folder.join("kube-scheduler.log"))
}

/// kwok, which plays the kubelets of all nodes by the stages in the file `stages`.
pub(super) fn kwok(folder: &Path, kubeconfig: &Path, stages: &Path) -> Result<Running> {
    let mut command = Command::new(assets::asset("kwok")?);
    command
        .arg("--manage-all-nodes")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--config")
        .arg(stages);
    command.arg("--node-lease-duration-seconds=40");
    // It would write ~/.kwok otherwise.
    command.env("KWOK_WORKDIR", folder.join("kwok"));
    Running::start("kwok", &command, &folder.join("kwok.log"))
}

/// Creates `count` nodes and waits until kwok has made them ready.
pub(super) async fn nodes(client: &Client, count: usize, deadline: Duration) -> Result<()> {
    let api: Api<Node> = Api::all(client.clone());
    for index in 0..count {
        let node = serde_json::from_value(serde_json::json!({
            "metadata": {
                "name": format!("node-{index}"),
                "annotations": { "kwok.x-k8s.io/node": "fake" },
                "labels": { "kubernetes.io/hostname": format!("node-{index}"), "type": "kwok" },
            },
            "status": {
                "allocatable": { "cpu": "64", "memory": "256Gi", "pods": "1000" },
                "capacity": { "cpu": "64", "memory": "256Gi", "pods": "1000" },
            },
        }))?;
        api.create(&PostParams::default(), &node).await?;
    }
    wait::until("nodes ready", deadline, async || {
        let nodes = api.list(&ListParams::default()).await?.items;
        Ok(Seen::when(nodes, |nodes| {
            nodes.len() == count && nodes.iter().all(is_ready)
        }))
    })
    .await?;
    Ok(())
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::{ports, workdir};

    #[tokio::test]
    async fn a_server_whose_port_was_taken_is_started_on_another() {
        let folder = workdir::workdir("ports").unwrap();
        let deadline = Duration::from_secs(60);
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        // Each server is offered the taken port first.
        let offer = || {
            let mut first = Some(taken.local_addr().unwrap().port());
            move || first.take().map_or_else(ports::free_port, Ok)
        };
        let (_etcd, etcd_url) = etcd(&folder, offer(), deadline).await.unwrap();
        let users = Users::new();
        std::fs::write(folder.join(TOKEN_FILE), users.token_file()).unwrap();
        pki::write(&folder).unwrap();

        let (api_server, url) = api_server(&folder, &etcd_url, &users, offer(), deadline).await.unwrap();

        let port = taken.local_addr().unwrap().port().to_string();
        assert!(!etcd_url.ends_with(&port), "{etcd_url}");
        assert!(!url.ends_with(&port), "{url}");
        assert_eq!(api_server.ended().unwrap(), None);
    }
}
