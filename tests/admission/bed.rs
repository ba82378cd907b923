//! The webhook and its certificates within this process, installed in a real API server.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use streaming_operator::api::StoredPipeline;
use streaming_operator::certs::due::Policy;
use streaming_operator::certs::{self, SelfMade, ServingCertificate, Source};
use streaming_operator::server::{Limits, Need, Readiness, Transport, WorkLimits, serve, tls};
use streaming_operator::telemetry::Metrics;
use streaming_operator::webhook::{self, Names};
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::install::{Roles, Webhooks};
use testkit::users;
use testkit::wait::{self, Seen};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

pub(crate) static CLUSTER: Shared = Shared::new(Options::api_server());

/// The configurations have one name, so one webhook at a time is installed.
pub(crate) static TURN: Mutex<()> = Mutex::const_new(());

const HOURS: fn(u64) -> Duration = |hours| Duration::from_secs(hours * 3600);

/// A pipeline with the fields that have no default.
pub(crate) fn manifest(name: &str) -> Value {
    json!({
        "apiVersion": "streams.sentry.io/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": name},
        "spec": {
            "service_name": "metrics",
            "pipeline_module": "sentry_streams/examples/simple_map_filter.py",
            "image_name": "registry.example/sentry-streams:0.0.69",
            "cpu_per_process": 500,
            "memory_per_process": 512,
            "deployment_template": {},
            "container_template": {"env": [{"name": "SENTRY_REGION", "value": "eu"}]},
            "pipeline_config": {
                "env": {},
                "pipeline": {
                    "adapter_config": {"arroyo": {"write_healthcheck": true}},
                    "segments": [{"steps_config": {
                        "myinput": {"starts_segment": true, "bootstrap_servers": ["kafka-0.kafka:9092"]},
                        "mysink": {"bootstrap_servers": ["kafka-0.kafka:9092"]}
                    }}]
                }
            }
        }
    })
}

pub(crate) struct Bed {
    pub(crate) cluster: &'static ControlPlane,
    webhooks: Webhooks,
    readiness: Readiness,
    server: Option<JoinHandle<()>>,
    cancel: CancellationToken,
    /// Namespace of the pipelines.
    pub(crate) namespace: String,
    _turn: MutexGuard<'static, ()>,
}

impl Bed {
    /// Installs everything and waits until the API server calls the webhook.
    pub(crate) async fn start() -> Self {
        Self::start_for(None).await
    }

    /// As [`Bed::start`], of an operator that runs all Pods in `workload_namespace`.
    pub(crate) async fn start_for(workload_namespace: Option<&str>) -> Self {
        let turn = TURN.lock().await;
        let cluster = CLUSTER.get().await.expect("a control plane");
        let own = cluster.namespace("operator").await.expect("a namespace");
        let namespace = cluster.namespace("pipelines").await.expect("a namespace");
        install_crds(cluster).await;
        cluster
            .install_roles(&Roles::everywhere(&own))
            .await
            .expect("the roles are taken");
        let client = cluster.user(users::OPERATOR).await.expect("a client");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let webhooks = Webhooks::new(&own, port);
        let readiness = Readiness::new(&[Need::CachesSynced, Need::Certificate]);
        let cancel = CancellationToken::new();
        let names = Names::new(workload_namespace.map(str::to_owned), Duration::from_secs(30));
        let server = run(listener, client, Arc::new(names), &webhooks, &readiness, &cancel);
        let bed = Self {
            cluster,
            webhooks,
            readiness,
            server: Some(server),
            cancel,
            namespace,
            _turn: turn,
        };
        bed.install_webhooks().await;
        bed.wait_until_admission_works().await;
        bed
    }

    /// Puts the CRD back as it is released.
    pub(crate) async fn install_crds(&self) {
        install_crds(self.cluster).await;
    }

    pub(crate) async fn install_webhooks(&self) {
        self.cluster
            .install_webhooks(&self.webhooks)
            .await
            .expect("the configurations are taken");
    }

    /// Takes both configurations away, and waits until the API server no longer asks.
    pub(crate) async fn remove_webhooks(&self) {
        let kinds = "mutatingwebhookconfiguration,validatingwebhookconfiguration";
        self.kubectl(&["delete", kinds, &self.webhooks.name])
            .await
            .expect("they are deleted");
        let mut broken = manifest("broken");
        broken["spec"]["segment_id"] = json!(7);
        let look = async || {
            let refusal = self.apply_with(&broken, &["--dry-run=server"]).await.err();
            Ok(Seen::when(refusal, Option::is_none))
        };
        wait::until("no refusal", wait::DEADLINE, look)
            .await
            .expect("nobody judges");
    }

    /// Where its Service is.
    pub(crate) fn service_namespace(&self) -> &str {
        &self.webhooks.namespace
    }

    /// Where the webhook listens.
    pub(crate) fn port(&self) -> u16 {
        self.webhooks.port
    }

    /// Waits until both configurations trust what is served.
    pub(crate) async fn wait_for_bundles(&self) {
        let look = async || Ok(Seen::when(self.readiness.unmet(), Vec::is_empty));
        wait::until("readiness", wait::DEADLINE, look).await.expect("ready");
    }

    /// Waits until the API server asks both webhooks: it learns of configurations by a watch.
    pub(crate) async fn wait_until_admission_works(&self) {
        self.wait_for_bundles().await;
        let mut broken = manifest("broken");
        broken["spec"]["segment_id"] = json!(7);
        let look = async || {
            let refusal = self
                .apply_with(&broken, &["--dry-run=server"])
                .await
                .err()
                .unwrap_or_default();
            Ok(Seen::when(refusal, |text| text.contains("spec.segment_id")))
        };
        wait::until("a refusal", wait::DEADLINE, look)
            .await
            .expect("the webhook judges");
        let look = async || {
            let stored = self
                .apply_with(&manifest("good"), &["--dry-run=server", "-o", "json"])
                .await;
            Ok(Seen::when(stored.unwrap_or_default(), |text| {
                text.contains("\"pipeline_name\"")
            }))
        };
        wait::until("a default", wait::DEADLINE, look)
            .await
            .expect("the webhook defaults");
    }

    /// Ends the webhook.
    pub(crate) async fn stop(&mut self) {
        self.cancel.cancel();
        self.server.take().expect("it runs").await.expect("no panic");
    }

    /// What kubectl prints, or its complaint.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let arguments = [arguments, &["--namespace", &self.namespace]].concat();
        self.cluster
            .kubectl(&arguments)
            .await
            .map_err(|error| format!("{error:#}"))
    }

    pub(crate) async fn apply(&self, object: &Value) -> Result<String, String> {
        self.apply_with(object, &[]).await
    }

    pub(crate) async fn apply_with(&self, object: &Value, arguments: &[&str]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, object.to_string()).expect("a file");
        let path = file.path().to_str().expect("UTF-8");
        self.kubectl(&[&["apply", "--filename", path], arguments].concat())
            .await
    }

    pub(crate) async fn patch(&self, name: &str, patch: &str) -> Result<String, String> {
        self.kubectl(&["patch", "spipe", name, "--type=merge", "--patch", patch])
            .await
    }

    pub(crate) async fn stored(&self, name: &str) -> Value {
        let text = self
            .kubectl(&["get", "spipe", name, "-o", "json"])
            .await
            .expect("it exists");
        serde_json::from_str(&text).expect("JSON")
    }

    pub(crate) async fn names_of_pipelines(&self) -> Vec<String> {
        let text = self.kubectl(&["get", "spipe", "-o", "name"]).await.expect("a list");
        text.lines().map(str::to_owned).collect()
    }
}

async fn install_crds(cluster: &ControlPlane) {
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    cluster.install_crds(&crds).await.expect("the CRD is taken");
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Starts the operator's admission half; gives the task of its server.
fn run(
    listener: TcpListener,
    client: Client,
    names: Arc<Names>,
    webhooks: &Webhooks,
    readiness: &Readiness,
    cancel: &CancellationToken,
) -> JoinHandle<()> {
    let pipelines = watcher(Api::<StoredPipeline>::all(client.clone()), watcher::Config::default());
    let (observed, synced) = (Arc::clone(&names), readiness.clone());
    let follow = pipelines.default_backoff().for_each(move |event| {
        if let Ok(event) = event {
            observed.observe(&event);
        }
        if observed.is_synced() {
            synced.met(Need::CachesSynced);
        }
        std::future::ready(())
    });
    tokio::spawn(cancel.clone().run_until_cancelled_owned(follow));
    let served = Arc::new(ServingCertificate::default());
    let settings = certs::Settings {
        source: Source::SelfMade(SelfMade {
            namespace: webhooks.namespace.clone(),
            policy: Policy {
                hosts: [webhooks.host(), "localhost".to_owned()].into(),
                leaf_lifetime: HOURS(2160),
                ca_lifetime: HOURS(43_800),
                ca_overlap: HOURS(24),
            },
        }),
        webhook_config_name: webhooks.name.clone(),
    };
    let metrics = Metrics::new("0", "0", false);
    let deps = certs::Deps {
        as_leader: client.clone(),
        client,
        served: Arc::clone(&served),
        readiness: readiness.clone(),
        metrics: metrics.clone(),
        is_leader: watch::channel(true).1,
    };
    tokio::spawn(certs::run(settings, deps, cancel.clone()));
    let config = tls::server_config(served).expect("a TLS configuration");
    let router = webhook::router(webhook::Deps {
        names,
        authorizer: None,
        metrics_sources: Arc::new(["default".to_owned()].into()),
        metrics,
        limits: WorkLimits::default(),
    });
    let transport = Transport::Tls(TlsAcceptor::from(Arc::new(config)));
    let limits = Limits::webhook(Duration::ZERO);
    tokio::spawn(serve(listener, transport, router, limits, cancel.clone()))
}
