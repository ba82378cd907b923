//! One control plane for all tests of this binary; each test has operators, namespaces and pipelines of its own.

use std::time::Duration;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use testkit::assets;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::fixtures;
use testkit::install::Roles;
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};
use tokio::sync::OnceCell;

/// What a pipeline is given to get somewhere on a slow machine.
pub(crate) const SOON: Duration = Duration::from_secs(120);

static CLUSTER: Shared = Shared::new(Options::full(4));

/// The control plane, with CRDs and the operator's rights.
pub(crate) async fn cluster() -> &'static ControlPlane {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let cluster = CLUSTER.get().await.unwrap();
    let install = async || {
        let namespace = cluster.namespace("release").await.unwrap();
        cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
        cluster.install_roles(&Roles::everywhere(&namespace)).await.unwrap();
    };
    INSTALLED.get_or_init(install).await;
    cluster
}

/// The pipelines and Pods of one test.
pub(crate) struct Bed {
    pub(crate) cluster: &'static ControlPlane,
    pub(crate) admin: Client,
    /// Where its pipelines are; no other operator looks there.
    pub(crate) namespace: String,
    /// Where their Pods run.
    pub(crate) pods_in: String,
}

/// Where Pods run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Beside their pipeline.
    Together,
    /// In a namespace of their own.
    Apart,
}

impl Mode {
    pub(crate) const BOTH: [Self; 2] = [Self::Together, Self::Apart];
}

impl Bed {
    pub(crate) async fn new(prefix: &str, mode: Mode) -> Self {
        let cluster = cluster().await;
        let namespace = cluster.namespace(prefix).await.unwrap();
        let pods_in = match mode {
            Mode::Together => namespace.clone(),
            Mode::Apart => cluster.namespace(&format!("{prefix}-pods")).await.unwrap(),
        };
        Self {
            cluster,
            admin: cluster.admin().await.unwrap(),
            namespace,
            pods_in,
        }
    }

    /// An operator for this test alone. It always leads, and serves no admission.
    pub(crate) fn launch(&self, flags: &[&str]) -> Launch {
        let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), self.cluster, &self.namespace).unwrap();
        let launch = launch.with(&["--webhook-enabled=false", "--leader-elect=false", "--shutdown-delay=0s"]);
        let launch = launch.with(&["--watch-namespace", &self.namespace]).with(flags);
        if self.pods_in == self.namespace {
            return launch;
        }
        launch.with(&["--workload-namespace", &self.pods_in])
    }

    /// Starts an operator with these flags.
    pub(crate) fn start(&self, flags: &[&str]) -> Operator {
        self.launch(flags).start().unwrap()
    }

    pub(crate) fn pipelines(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("streams.sentry.io", "v1alpha1", "StreamingPipeline");
        let resource = ApiResource::from_gvk_with_plural(&kind, "streamingpipelines");
        Api::namespaced_with(self.admin.clone(), &self.namespace, &resource)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.admin.clone(), &self.pods_in)
    }

    /// Creates a pipeline.
    pub(crate) async fn create(&self, pipeline: Value) {
        let pipeline = serde_json::from_value(pipeline).unwrap();
        self.pipelines()
            .create(&PostParams::default(), &pipeline)
            .await
            .unwrap();
    }

    /// Changes a pipeline by a merge patch.
    pub(crate) async fn edit(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        self.pipelines()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Deletes a pipeline in the background.
    pub(crate) async fn delete(&self, name: &str) {
        self.pipelines().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// The Pods that we made, by name.
    pub(crate) async fn ours(&self) -> Vec<Pod> {
        self.pods().list(&managed()).await.unwrap().items
    }

    /// `set/ordinal image` of each Pod, sorted.
    pub(crate) async fn running(&self) -> Vec<String> {
        let mut running: Vec<String> = self.ours().await.iter().map(in_words).collect();
        running.sort();
        running
    }

    /// How many objects of ours there are: Pods, ConfigMaps, ControllerRevisions.
    pub(crate) async fn count(&self) -> [usize; 3] {
        let config_maps: Api<ConfigMap> = Api::namespaced(self.admin.clone(), &self.pods_in);
        let revisions: Api<ControllerRevision> = Api::namespaced(self.admin.clone(), &self.namespace);
        [
            self.ours().await.len(),
            config_maps.list(&managed()).await.unwrap().items.len(),
            revisions.list(&managed()).await.unwrap().items.len(),
        ]
    }

    /// Waits until `Ready` of a pipeline is `status/reason`, of its newest spec; gives its message.
    pub(crate) async fn until_ready_is(&self, operator: &Operator, name: &str, wanted: &str) -> String {
        let look = async || {
            let object = self.pipelines().get(name).await?;
            let (status, generation) = (object.data["status"].clone(), object.metadata.generation);
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions
                .iter()
                .find(|condition| condition["type"] == "Ready")
                .cloned();
            let ready = ready.unwrap_or_default();
            let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
            let said = format!("{}/{}", text("status"), text("reason"));
            let newest = status["observedGeneration"].as_i64() == generation;
            Ok(if newest && said == wanted {
                Seen::Yes(text("message"))
            } else {
                Seen::NotYet(format!("{said} {}", text("message")))
            })
        };
        let what = format!("Ready of pipeline {}/{name} to be {wanted}", self.namespace);
        let result = wait::until(&what, SOON, look).await;
        result.unwrap_or_else(|error| panic!("{error:#}\n{}", operator.log_tail(40)))
    }

    /// Waits until nothing of a deleted pipeline is left: neither it, nor what was made for it.
    pub(crate) async fn until_all_is_gone(&self, name: &str) {
        let look = async || {
            let pipeline = self.pipelines().get_opt(name).await?;
            let left = (pipeline.is_some(), self.count().await);
            Ok(Seen::when(left, |left| *left == (false, [0, 0, 0])))
        };
        wait::until("all of a pipeline to be gone", SOON, look).await.unwrap();
    }
}

fn managed() -> ListParams {
    ListParams::default().labels("streams.sentry.io/managed-by=streaming-operator")
}

pub(crate) fn label<'a>(pod: &'a Pod, name: &str) -> &'a str {
    let labels = pod.metadata.labels.as_ref();
    let label = labels.and_then(|labels| labels.get(&format!("streams.sentry.io/{name}")));
    label.map(String::as_str).unwrap_or_default()
}

fn in_words(pod: &Pod) -> String {
    let image = pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone());
    let (set, ordinal) = (label(pod, "workload-set"), label(pod, "ordinal"));
    format!("{set}/{ordinal} {}", image.unwrap_or_default())
}

/// A pipeline of `replicas` consumers; its Pods are named `svc-pipeline-{name}-0-{ordinal}-{generation}`.
pub(crate) fn pipeline(name: &str, replicas: u16) -> Value {
    let ends_soon = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}});
    fixtures::edited(
        name,
        &json!({
            "pipeline_name": name, "image_name": "image:1", "cpu_per_process": 10, "memory_per_process": 16,
            "replicas": replicas, "deployment_template": ends_soon,
        }),
    )
}
