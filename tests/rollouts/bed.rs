//! A namespace with an operator of its own.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::assets;
use testkit::audit::{Mark, Record};
use testkit::children::Running;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::fixtures;
use testkit::install::Roles;
use testkit::operator::{Launch, Operator};
use testkit::users;
use testkit::wait::{self, Seen};
use tokio::sync::OnceCell;

/// What a pipeline is given to get somewhere on a slow machine.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// Three nodes, so that one can be drained and the others are no single one.
static CLUSTER: Shared = Shared::new(Options {
    controller_manager: false,
    ..Options::full(3)
});
/// The controller manager, which knows our kinds from its start.
static INSTALLED: OnceCell<Running> = OnceCell::const_new();

/// A namespace of pipelines, and the operator that looks after it.
pub(crate) struct Bed {
    pub(crate) cluster: &'static ControlPlane,
    pub(crate) admin: kube::Client,
    /// The namespace of the pipelines, of the Lease, and of the Pods unless a flag says otherwise.
    pub(crate) namespace: String,
    launch: Launch,
    operators: Vec<Operator>,
}

/// A namespace beside that of a bed.
pub(crate) async fn namespace(prefix: &str) -> String {
    CLUSTER.get().await.unwrap().namespace(prefix).await.unwrap()
}

impl Bed {
    /// The operator runs.
    pub(crate) async fn start(prefix: &str, flags: &[&str]) -> Self {
        let mut bed = Self::new(prefix, flags).await;
        bed.run().await;
        bed
    }

    /// No operator runs yet.
    pub(crate) async fn new(prefix: &str, flags: &[&str]) -> Self {
        let cluster = CLUSTER.get().await.unwrap();
        let install = async || {
            cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
            cluster.start_controller_manager().unwrap()
        };
        INSTALLED.get_or_init(install).await;
        let namespace = cluster.namespace(prefix).await.unwrap();
        let roles = Roles {
            full_name: namespace.clone(),
            ..Roles::everywhere(&namespace)
        };
        cluster.install_roles(&roles).await.unwrap();
        let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), cluster, &namespace).unwrap();
        let launch = launch
            .with(&["--watch-namespace", &namespace, "--webhook-enabled=false"])
            .with(flags);
        Self {
            cluster,
            admin: cluster.admin().await.unwrap(),
            namespace,
            launch,
            operators: Vec::new(),
        }
    }

    /// Starts one more operator, and waits until it is ready.
    pub(crate) async fn run(&mut self) {
        let mut launch = self.launch.clone();
        if !self.operators.is_empty() {
            launch.webhook_port = testkit::ports::free_port().unwrap();
            launch.http_port = testkit::ports::free_port().unwrap();
        }
        let operator = launch.start().unwrap();
        operator.ready().await.unwrap();
        self.operators.push(operator);
    }

    /// The operator that was started first and still runs.
    pub(crate) fn operator(&self) -> &Operator {
        &self.operators[0]
    }

    /// Ends the operator that was started first, as an upgrade does.
    pub(crate) async fn end_first(&mut self) {
        let operator = self.operators.remove(0);
        operator.terminate().unwrap();
        operator.wait().await.unwrap();
    }

    /// Waits for the end of the operator that was started first, which was killed.
    pub(crate) async fn forget_first(&mut self) {
        self.operators.remove(0).wait().await.unwrap();
    }

    /// Speaks to the API server through another URL from the next start on.
    pub(crate) fn via(&mut self, url: &str) {
        self.launch = self.launch.clone().via(self.cluster, url).unwrap();
    }

    pub(crate) async fn apply(&self, objects: &[Value]) {
        self.cluster.apply(objects).await.unwrap();
    }

    /// kubectl in the namespace; what it prints.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let all = [arguments, &["--namespace", &self.namespace]].concat();
        self.cluster.kubectl(&all).await
    }

    /// A merge patch of a pipeline.
    pub(crate) async fn edit(&self, name: &str, patch: Value) {
        let patch = patch.to_string();
        let arguments = ["patch", "spipe", name, "--type=merge", "--patch", &patch];
        self.kubectl(&arguments).await.unwrap();
    }

    /// A pipeline as it is stored.
    pub(crate) async fn pipeline(&self, name: &str) -> Value {
        let text = self.kubectl(&["get", "spipe", name, "--output=json"]).await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// All objects of a kind in the namespace.
    pub(crate) async fn list(&self, kind: &str) -> Vec<Value> {
        let text = self.kubectl(&["get", kind, "--output=json"]).await.unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        list["items"].as_array().cloned().unwrap()
    }

    /// Waits until a condition of a pipeline is `status/reason` for the spec as it is now.
    pub(crate) async fn until(&self, name: &str, type_: &str, wanted: &str) -> Value {
        let look = async || {
            let pipeline = self.pipeline(name).await;
            let current = pipeline["metadata"]["generation"] == pipeline["status"]["observedGeneration"];
            let found = condition(&pipeline, type_);
            let is = format!("{}/{}", found["status"], found["reason"]).replace('"', "");
            Ok(if current && is == wanted {
                Seen::Yes(pipeline)
            } else {
                Seen::NotYet(format!("{is}: {}", pipeline["status"]))
            })
        };
        let what = format!("{type_} of {}/{name} to be {wanted}", self.namespace);
        let until = wait::until(&what, SOON, look).await;
        until.unwrap_or_else(|error| panic!("{error:#}\n{}", self.operator().log_tail(30)))
    }

    pub(crate) async fn until_ready(&self, name: &str) -> Value {
        self.until(name, "Ready", "True/Ready").await
    }

    /// Waits until a number of the status is this.
    pub(crate) async fn until_number(&self, name: &str, field: &str, wanted: i64) {
        let look = async || {
            let number = self.pipeline(name).await["status"][field].as_i64();
            Ok(Seen::when(number, |number| *number == Some(wanted)))
        };
        let what = format!("{field} of {name} to be {wanted}");
        let until = wait::until(&what, SOON, look).await;
        until.unwrap_or_else(|error| panic!("{error:#}\n{}", self.operator().log_tail(30)));
    }

    pub(crate) async fn mark(&self) -> Mark {
        self.cluster.audit().mark(&self.admin).await.unwrap()
    }

    /// What the operators of this namespace have successfully written since a mark, the Lease apart.
    pub(crate) async fn writes_since(&self, mark: Mark) -> Vec<Record> {
        let audit = self.cluster.audit();
        let mut records = audit.since_by(users::OPERATOR, mark, &self.admin).await.unwrap();
        records.retain(|record| {
            let here = record.namespace == self.namespace && record.resource != "leases";
            here && record.is_write() && record.succeeded()
        });
        records
    }

    /// What the operators of this namespace have successfully written to Pods since a mark.
    pub(crate) async fn pod_writes_since(&self, mark: Mark) -> Vec<String> {
        let writes = self.writes_since(mark).await;
        let of_pods = writes.iter().filter(|record| record.resource == "pods");
        of_pods.map(ToString::to_string).collect()
    }
}

/// A condition of a pipeline; null when it has none.
pub(crate) fn condition(pipeline: &Value, type_: &str) -> Value {
    let conditions = pipeline["status"]["conditions"].as_array();
    let mut all = conditions.into_iter().flatten();
    all.find(|condition| condition["type"] == type_)
        .cloned()
        .unwrap_or_default()
}

/// A pipeline of `replicas` consumers; its Pods are named `svc-pipeline-{name}-0-{ordinal}-{generation}`.
pub(crate) fn pipeline(namespace: &str, name: &str, replicas: u16) -> Value {
    let edit = json!({
        "pipeline_name": name, "image_name": "registry.example/consumer:1", "cpu_per_process": 10,
        "memory_per_process": 16, "replicas": replicas,
    });
    let mut pipeline = fixtures::edited(name, &edit);
    pipeline["metadata"]["namespace"] = json!(namespace);
    pipeline
}

/// An image that exists, and one that kwok's kubelet cannot pull.
pub(crate) fn image(tag: &str) -> Value {
    json!({"spec": {"image_name": format!("registry.example/consumer:{tag}")}})
}
