//! An installed release: one control plane for all tests of this binary, the operator in two replicas, pipelines.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::assets;
use testkit::balancer::Balancer;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::fixtures;
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};
use tokio::sync::OnceCell;

/// What a pipeline is given to get somewhere on a slow machine.
pub(crate) const SOON: Duration = Duration::from_secs(120);

static CLUSTER: Shared = Shared::new(Options::full(2));
static RELEASE: OnceCell<Release> = OnceCell::const_new();

/// The control plane with the operator beside it.
pub(crate) struct Release {
    pub(crate) cluster: &'static ControlPlane,
    pub(crate) replicas: Vec<Operator>,
    _balancer: Balancer,
}

impl Release {
    /// The one of this binary.
    pub(crate) async fn get() -> &'static Self {
        RELEASE.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        let cluster = CLUSTER.get().await.unwrap();
        let namespace = cluster.namespace("release").await.unwrap();
        cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
        cluster.install_roles(&Roles::everywhere(&namespace)).await.unwrap();
        let balancer = Balancer::start().unwrap();
        cluster
            .install_webhooks(&Webhooks::new(&namespace, balancer.port()))
            .await
            .unwrap();
        let mut replicas = Vec::new();
        for name in ["a", "b"] {
            let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), cluster, &namespace).unwrap();
            let replica = launch.start().unwrap();
            balancer.add(name, &replica);
            replicas.push(replica);
        }
        for replica in &replicas {
            replica.ready().await.unwrap();
        }
        let ready = async || Ok(Seen::when(balancer.receivers(), |names| names.len() == 2));
        wait::until("both replicas behind the balancer", wait::DEADLINE, ready)
            .await
            .unwrap();
        Self {
            cluster,
            replicas,
            _balancer: balancer,
        }
    }

    /// Waits until the condition `Ready` of a pipeline is `status/reason`.
    pub(crate) async fn until_ready_is(&self, namespace: &str, name: &str, wanted: &str) {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}/{.status.conditions[?(@.type=="Ready")].reason} {.metadata.generation} {.status.observedGeneration}"#;
        let look = async || {
            let text = self
                .cluster
                .kubectl(&["get", "spipe", name, "--namespace", namespace, "--output", path])
                .await?;
            let words: Vec<&str> = text.split_whitespace().collect();
            let holds = matches!(words.as_slice(), [ready, spec, seen] if *ready == wanted && spec == seen);
            Ok(if holds { Seen::Yes(()) } else { Seen::NotYet(text) })
        };
        let what = format!("Ready of pipeline {namespace}/{name} to be {wanted}");
        wait::until(&what, SOON, look).await.unwrap_or_else(|error| {
            let logs: Vec<String> = self.replicas.iter().map(|replica| replica.log_tail(20)).collect();
            panic!("{error:#}\n{}", logs.join("\n--\n"))
        });
    }

    /// An object as it is now.
    pub(crate) async fn get_object(&self, namespace: &str, kind: &str, name: &str) -> Value {
        let text = self
            .cluster
            .kubectl(&["get", kind, name, "--namespace", namespace, "--output=json"])
            .await;
        serde_json::from_str(&text.unwrap()).unwrap()
    }

    /// All objects of a kind, by name.
    pub(crate) async fn list(&self, namespace: &str, kind: &str) -> Vec<Value> {
        let text = self
            .cluster
            .kubectl(&["get", kind, "--namespace", namespace, "--output=json"])
            .await;
        let list: Value = serde_json::from_str(&text.unwrap()).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }
}

/// A pipeline of `replicas` consumers; its Pods are named `svc-pipeline-{name}-0-{ordinal}-{generation}`.
pub(crate) fn pipeline(namespace: &str, name: &str, replicas: u16) -> Value {
    let edit = json!({
        "pipeline_name": null, "image_name": "registry.example/consumer:1", "cpu_per_process": 10,
        "memory_per_process": 16, "replicas": replicas,
    });
    let mut pipeline = fixtures::edited(name, &edit);
    pipeline["metadata"]["namespace"] = json!(namespace);
    pipeline
}
