//! An installed release: two replicas of the operator, each with a user and a way to the API server of its own, behind a
//! balancer to which the webhook configurations point.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::balancer::Balancer;
use testkit::control_plane::ControlPlane;
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};
use testkit::proxy::Proxy;
use testkit::wait::{self, Seen};
use testkit::{assets, children, fixtures, users, workdir};

const BINARY: &str = env!("CARGO_BIN_EXE_streaming-operator");
/// Moves the wall clock of one process.
const CLOCK_SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/high_availability/clock.c");

/// One replica of the operator.
pub(crate) struct Replica {
    pub(crate) name: &'static str,
    /// As the audit log knows it.
    pub(crate) user: &'static str,
    /// Its way to the API server.
    pub(crate) proxy: Proxy,
    launch: Launch,
    pub(crate) operator: Operator,
    /// Holds the seconds by which its wall clock is off.
    clock: Option<PathBuf>,
}

/// The release.
pub(crate) struct Bed {
    pub(crate) cluster: &'static ControlPlane,
    pub(crate) admin: kube::Client,
    /// The operator's namespace.
    pub(crate) own: String,
    /// The namespace of the pipelines.
    pub(crate) pipelines: String,
    pub(crate) balancer: Balancer,
    pub(crate) webhooks: Webhooks,
    pub(crate) replicas: Vec<Replica>,
}

impl Bed {
    /// Installs everything, and waits until both replicas are behind the balancer and the API server asks them.
    pub(crate) async fn start(cluster: &'static ControlPlane, flags: &[&str]) -> Self {
        Self::start_with(cluster, flags, false).await
    }

    /// As [`Bed::start`]; with `clocks`, the wall clock of each replica can be moved.
    pub(crate) async fn start_with(cluster: &'static ControlPlane, flags: &[&str], clocks: bool) -> Self {
        let own = cluster.namespace("release").await.unwrap();
        Self::start_in(own, cluster, flags, clocks).await
    }

    /// As [`Bed::start_with`], in a namespace that is there.
    pub(crate) async fn start_in(own: String, cluster: &'static ControlPlane, flags: &[&str], clocks: bool) -> Self {
        let pipelines = cluster.namespace("pipelines").await.unwrap();
        cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
        cluster.install_roles(&Roles::everywhere(&own)).await.unwrap();
        cluster.apply(&second_user(&own)).await.unwrap();
        let balancer = Balancer::start().unwrap();
        let webhooks = Webhooks::new(&own, balancer.port());
        cluster.install_webhooks(&webhooks).await.unwrap();
        let shim = clocks.then(build_clock);
        let mut replicas = Vec::new();
        for (name, user) in [("a", users::OPERATOR), ("b", users::OTHER_OPERATOR)] {
            let replica = Replica::start(name, user, cluster, &own, flags, shim.as_ref());
            balancer.add(name, &replica.operator);
            replicas.push(replica);
        }
        let bed = Self {
            cluster,
            admin: cluster.admin().await.unwrap(),
            own,
            pipelines,
            balancer,
            webhooks,
            replicas,
        };
        bed.until_all_serve().await;
        bed.until_admission_works().await;
        bed
    }

    /// Waits until every replica is ready and gets connections.
    pub(crate) async fn until_all_serve(&self) {
        for replica in &self.replicas {
            replica.operator.ready().await.unwrap();
        }
        let all = self.replicas.len();
        let look = async || Ok(Seen::when(self.balancer.receivers(), |names| names.len() == all));
        wait::until("all replicas behind the balancer", wait::DEADLINE, look)
            .await
            .unwrap();
    }

    /// Waits until the API server asks both webhooks: it learns of configurations by a watch.
    pub(crate) async fn until_admission_works(&self) {
        let mut broken = manifest(&self.pipelines, "probe");
        broken["spec"]["segment_id"] = json!(7);
        let look = async || {
            let refusal = self.try_create(&broken).await.err().unwrap_or_default();
            let defaulted = self.try_create(&manifest(&self.pipelines, "probe")).await;
            let named = defaulted.as_ref().is_ok_and(|text| text.contains("\"pipeline_name\""));
            Ok(if named && refusal.contains("spec.segment_id") {
                Seen::Yes(())
            } else {
                Seen::NotYet(format!("{refusal}; {defaulted:?}"))
            })
        };
        wait::until("both webhooks to be asked", wait::DEADLINE, look)
            .await
            .unwrap();
    }

    /// A dry run of a create; what the API server says.
    pub(crate) async fn try_create(&self, object: &Value) -> Result<String, String> {
        post(&self.admin, &self.pipelines, object, "?dryRun=All").await
    }

    /// The identity in the Lease; empty when nobody holds it.
    pub(crate) async fn holder(&self) -> anyhow::Result<String> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases/streaming-operator",
            self.own
        );
        let lease: Value = self.admin.request(http::Request::get(path).body(Vec::new())?).await?;
        Ok(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned())
    }

    /// The index of the replica that leads.
    pub(crate) async fn leader(&self) -> usize {
        let look = async || {
            let holder = self.holder().await?;
            let leads = self.replicas.iter().position(|replica| replica.is(&holder));
            Ok(leads.map_or(Seen::NotYet(holder), Seen::Yes))
        };
        wait::until("a leader", wait::DEADLINE, look).await.unwrap()
    }

    /// Starts the process of a replica that has ended again, and waits until both serve.
    pub(crate) async fn start_again(&mut self, index: usize) {
        let replica = &mut self.replicas[index];
        replica.operator = replica.launch.start().unwrap();
        self.balancer.add(replica.name, &replica.operator);
        self.until_all_serve().await;
    }
}

impl Replica {
    fn start(
        name: &'static str,
        user: &'static str,
        cluster: &ControlPlane,
        own: &str,
        flags: &[&str],
        shim: Option<&PathBuf>,
    ) -> Self {
        let proxy = Proxy::start(cluster).unwrap();
        let mut launch = Launch::new(BINARY, cluster, own).unwrap().with(flags);
        launch.kubeconfig = cluster.kubeconfig_via(user, &proxy.url()).unwrap();
        let clock = shim.map(|shim| {
            let offset = workdir::workdir("clock").unwrap().join("offset");
            std::fs::write(&offset, 0_i64.to_ne_bytes()).unwrap();
            let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
            launch.environment = vec![
                ("LD_PRELOAD".to_owned(), text(shim)),
                ("CLOCK_OFFSET_FILE".to_owned(), text(&offset)),
            ];
            offset
        });
        let operator = launch.start().unwrap();
        Self {
            name,
            user,
            proxy,
            launch,
            operator,
            clock,
        }
    }

    /// Whether this is the identity of its process: host name, process id, time of its start.
    pub(crate) fn is(&self, identity: &str) -> bool {
        identity.contains(&format!("_{}_", self.operator.process().id()))
    }

    /// Moves its wall clock to `seconds` off the machine's.
    pub(crate) fn move_clock(&self, seconds: i64) {
        let clock = self.clock.as_ref().expect("started with a clock that can be moved");
        // Over the bytes, not a new file: the process has mapped them.
        let mut file = std::fs::File::options().write(true).open(clock).unwrap();
        std::io::Write::write_all(&mut file, &seconds.to_ne_bytes()).unwrap();
    }

    /// Waits until it says by its own metric whether it leads.
    pub(crate) async fn until_says_it_leads(&self, leads: bool) {
        let wanted = format!("streaming_operator_leader {}", u8::from(leads));
        let look = async || {
            let text = self.operator.metrics().await?;
            let line = text.lines().find(|line| line.starts_with("streaming_operator_leader "));
            Ok(Seen::when(line.unwrap_or_default().to_owned(), |line| *line == wanted))
        };
        wait::until(&wanted, wait::DEADLINE, look).await.unwrap();
    }
}

/// Creates a pipeline; what the API server says.
pub(crate) async fn post(
    client: &kube::Client,
    namespace: &str,
    object: &Value,
    query: &str,
) -> Result<String, String> {
    let path = format!("/apis/streams.sentry.io/v1alpha1/namespaces/{namespace}/streamingpipelines{query}");
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())
        .unwrap();
    client.request_text(request).await.map_err(|error| format!("{error:#}"))
}

/// The rights of the release for the second replica, which has a user of its own so that the audit log tells them apart.
fn second_user(own: &str) -> [Value; 2] {
    let group = "rbac.authorization.k8s.io";
    let binding = |kind: &str, role_kind: &str, role: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": kind,
            "metadata": {"name": format!("{role}-second")},
            "roleRef": {"apiGroup": group, "kind": role_kind, "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": users::OTHER_OPERATOR}],
        })
    };
    let everywhere = binding("ClusterRoleBinding", "ClusterRole", "streaming-operator");
    let mut within = binding("RoleBinding", "Role", "streaming-operator-own");
    within["metadata"]["namespace"] = json!(own);
    [everywhere, within]
}

/// Compiles the library that moves a process's wall clock; gives its path.
fn build_clock() -> PathBuf {
    let library = workdir::workdir("clock").unwrap().join("clock.so");
    let mut command = Command::new("cc");
    command
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .arg(&library)
        .arg(CLOCK_SOURCE);
    children::output(&command).unwrap();
    library
}

/// A pipeline of one consumer; its Pods are named `svc-pipeline-{name}-0-{ordinal}-{generation}`.
pub(crate) fn manifest(namespace: &str, name: &str) -> Value {
    let edit = json!({
        "pipeline_name": null, "image_name": "registry.example/consumer:1", "cpu_per_process": 10,
        "memory_per_process": 16,
    });
    let mut pipeline = fixtures::edited(name, &edit);
    pipeline["metadata"]["namespace"] = json!(namespace);
    pipeline
}
