//! Our side of `make bench ONLY=admission`: the operator as it runs in a cluster, as a follower, on a real API server.
//!
//! Prints a line of JSON once the operator is ready: its process, the port of its webhook, and the file of the authority
//! to trust. Reads from stdin, a line each, how many pipelines of about 2 kB there shall be; makes them through the API
//! server, starts the operator anew, and prints such a line again. Ends at the end of stdin. Must never measure: that is
//! for `tests/bench/admission.py`, which reads what the kernel says of the process.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use streaming_operator::api::StreamingPipeline;
use testkit::assets;
use testkit::control_plane::{ControlPlane, Options};
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};

/// The operator's own namespace, and that of the pipelines.
const NAMESPACE: &str = "bench";
/// How many pipelines are made at once.
const CREATES_AT_ONCE: usize = 8;

/// The control plane and the operator on it.
struct Bed {
    cluster: ControlPlane,
    launch: Launch,
    operator: Operator,
    ca_file: PathBuf,
}

impl Bed {
    async fn start() -> Result<Self> {
        let cluster = ControlPlane::start(Options::api_server()).await?;
        cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
        cluster.install_crds(&assets::repository().join("crds")).await?;
        cluster.install_roles(&Roles::everywhere(NAMESPACE)).await?;
        // The lease does not end while the bench runs.
        let times = ["--lease-duration", "7200s", "--shutdown-delay", "0s"];
        let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), &cluster, NAMESPACE)?.with(&times);
        let webhooks = Webhooks::new(NAMESPACE, launch.webhook_port);
        cluster.install_webhooks(&webhooks).await?;
        // The first one leads, and makes what a follower finds: the certificate, and the trust in it.
        let leader = launch.start()?;
        leader.ready().await?;
        stop(&leader).await?;
        let client = cluster.admin().await?;
        let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
        let held = json!({"spec": {"holderIdentity": "another-replica", "leaseDurationSeconds": 7200}});
        leases
            .patch("streaming-operator", &PatchParams::default(), &Patch::Merge(held))
            .await?;
        let ca_file = cluster.folder().join("webhook-ca.crt");
        std::fs::write(&ca_file, authority(&client).await?)?;
        let operator = launch.start()?;
        operator.ready().await?;
        Ok(Self {
            cluster,
            launch,
            operator,
            ca_file,
        })
    }

    /// Tells who reads our stdout of the operator.
    fn tell(&self) -> Result<()> {
        let line = json!({
            "pid": self.operator.process().id(),
            "port": self.operator.webhook_port(),
            "ca": self.ca_file,
        });
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")?;
        Ok(out.flush()?)
    }

    /// Makes pipelines, and starts the operator anew.
    async fn fill(&mut self, number: usize) -> Result<()> {
        let api: Api<StreamingPipeline> = Api::namespaced(self.cluster.admin().await?, NAMESPACE);
        let creates = stream::iter(0..number).map(|index| {
            let api = api.clone();
            async move {
                let pipeline = serde_json::from_value(pipeline(index))?;
                api.create(&PostParams::default(), &pipeline).await?;
                anyhow::Ok(())
            }
        });
        creates
            .buffer_unordered(CREATES_AT_ONCE)
            .try_collect::<Vec<()>>()
            .await?;
        stop(&self.operator).await?;
        self.operator = self.launch.start()?;
        self.operator.ready().await
    }
}

async fn stop(operator: &Operator) -> Result<()> {
    operator.terminate()?;
    operator.wait().await?;
    Ok(())
}

/// The certificate of the authority that signed what the operator serves.
async fn authority(client: &kube::Client) -> Result<Vec<u8>> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let secret = secrets.get("streaming-operator-tls").await?;
    let data = secret.data.context("a Secret without data")?;
    Ok(data.get("ca.crt").context("a Secret without ca.crt")?.0.clone())
}

/// A pipeline whose JSON has about 2 kB.
fn pipeline(index: usize) -> Value {
    let servers: Vec<String> = (0..3)
        .map(|broker| format!("kafka-{broker}.kafka.svc.cluster.local:9092"))
        .collect();
    json!({
        "apiVersion": "streams.sentry.io/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": format!("pipeline-{index}"), "namespace": NAMESPACE, "labels": {"team": "ingest"}},
        "spec": {
            "service_name": "ingest",
            "pipeline_module": "ingest/pipelines/events.py",
            "image_name": "registry.example/ingest:2026.11.30",
            "cpu_per_process": 500,
            "memory_per_process": 1024,
            "deployment_template": {
                "metadata": {"labels": {"cost-center": "42"}},
                "spec": {"template": {"spec": {
                    "serviceAccountName": "ingest",
                    "nodeSelector": {"pool": "consumers"},
                    "tolerations": [{"key": "consumers", "operator": "Exists", "effect": "NoSchedule"}],
                }}},
            },
            "container_template": {"env": [
                {"name": "SENTRY_REGION", "value": "eu"},
                {"name": "SENTRY_DSN", "valueFrom": {"secretKeyRef": {"name": "ingest", "key": "dsn"}}},
                {"name": "HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
            ]},
            "pipeline_config": {
                "env": {"region": "eu"},
                "metrics": {"type": "datadog", "host": "${envvar:HOST_IP}", "port": 8126},
                "pipeline": {
                    "adapter_config": {"arroyo": {"write_healthcheck": true}},
                    "segments": [{"steps_config": {
                        "source": {"starts_segment": true, "bootstrap_servers": servers, "consumer_group": format!("ingest-{index}"),
                                   "topic": "ingest-events", "auto_offset_reset": "latest"},
                        "parser": {"batch_size": 1000, "batch_time": 2.5},
                        "sink": {"bootstrap_servers": servers, "topic": "ingest-results",
                                 "override_params": {"compression.type": "zstd", "linger.ms": "20"}},
                    }}],
                },
            },
        },
    })
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut bed = Bed::start().await?;
    bed.tell()?;
    // Blocks: nothing else is to be done meanwhile.
    for number in std::io::stdin().lock().lines() {
        bed.fill(number?.trim().parse()?).await?;
        bed.tell()?;
    }
    stop(&bed.operator).await?;
    bed.cluster.stop().await
}
