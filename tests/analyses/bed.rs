//! A namespace with a Deployment, an operator and a metrics source.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::assets;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::install::Roles;
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};
use testkit::workdir::workdir;
use tokio::sync::OnceCell;

use super::source::Source;

/// What a rollout is given on a slow machine.
const SOON: Duration = Duration::from_secs(180);

/// Worse than the analyses allow, and better.
pub(crate) const BAD: f64 = 0.31;
pub(crate) const GOOD: f64 = 0.2;

static CLUSTER: Shared = Shared::new(Options::full(1));
static INSTALLED: OnceCell<()> = OnceCell::const_new();

pub(crate) struct Bed {
    cluster: &'static ControlPlane,
    pub(crate) namespace: String,
    pub(crate) source: Source,
    launch: Launch,
    operator: Option<Operator>,
}

impl Bed {
    /// A Deployment `web` of eight Pods runs `image:1`, and the metric is good.
    pub(crate) async fn start(prefix: &str) -> Self {
        let cluster = CLUSTER.get().await.unwrap();
        let install = async || cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
        INSTALLED.get_or_init(install).await;
        let namespace = cluster.namespace(prefix).await.unwrap();
        let roles = Roles {
            full_name: namespace.clone(),
            ..Roles::everywhere(&namespace)
        };
        cluster.install_roles(&roles).await.unwrap();
        let source = Source::start(GOOD).await;
        let file = source.file(&workdir("source").unwrap());
        let metrics_source = format!("--metrics-source=default={}", file.display());
        let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), cluster, &namespace).unwrap();
        let launch = launch.with(&[
            "--watch-namespace",
            &namespace,
            "--webhook-enabled=false",
            &metrics_source,
        ]);
        let mut bed = Self {
            cluster,
            namespace,
            source,
            launch,
            operator: None,
        };
        bed.operator_starts().await;
        bed.cluster.apply(&[bed.deployment("image:1")]).await.unwrap();
        bed.until("web to run", "deployment", "web", |web| {
            web["status"]["availableReplicas"] == 8 && web["status"]["updatedReplicas"] == 8
        })
        .await;
        bed
    }

    /// It rolls out one Pod every few seconds, so that a measurement comes before its end.
    fn deployment(&self, image: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": self.namespace},
            "spec": {
                "replicas": 8, "minReadySeconds": 6,
                "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": image}]},
                },
            },
        })
    }

    pub(crate) async fn operator_starts(&mut self) {
        let operator = self.launch.start().unwrap();
        operator.ready().await.unwrap();
        self.operator = Some(operator);
    }

    pub(crate) async fn operator_ends(&mut self) {
        let operator = self.operator.take().expect("it runs");
        operator.terminate().unwrap();
        operator.wait().await.unwrap();
    }

    /// An analysis of `web` that the first failing measurement fails; gives its uid.
    pub(crate) async fn analyse(&self, name: &str) -> String {
        let analysis = json!({
            "apiVersion": "streams.sentry.io/v1alpha1", "kind": "RolloutAnalysis",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "target": {"kind": "Deployment", "name": "web"},
                "metrics": [{"name": "errors", "query": "errors{pod=~\"$(canaryPods)\"}", "maxValue": 0.25}],
                "interval": "5s", "failureLimit": 1, "requiredPasses": 1,
            },
        });
        self.cluster.apply(&[analysis]).await.unwrap();
        let analysis = self.until_condition(name, "TargetFound", "True/TargetFound").await;
        analysis["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Rolls out another image as a user does.
    pub(crate) async fn roll_out(&self, image: &str) {
        self.kubectl(&["set", "image", "deployment/web", &format!("web={image}")])
            .await;
    }

    /// kubectl in the namespace; what it prints.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> String {
        let all = [arguments, &["--namespace", &self.namespace]].concat();
        self.cluster.kubectl(&all).await.unwrap()
    }

    /// Waits until an object is like that.
    pub(crate) async fn until(&self, what: &str, kind: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let look = async || {
            let all = [
                "get",
                kind,
                name,
                "--output=json",
                "--show-managed-fields",
                "--namespace",
                &self.namespace,
            ];
            let object: Value = serde_json::from_str(&self.cluster.kubectl(&all).await?)?;
            Ok(Seen::when(object, &is))
        };
        let until = wait::until(what, SOON, look).await;
        until.unwrap_or_else(|error| {
            let log = self.operator.as_ref().map(|operator| operator.log_tail(30));
            panic!("{error:#}\n{}", log.unwrap_or_default())
        })
    }

    /// Waits until a condition of an analysis is `status/reason`.
    pub(crate) async fn until_condition(&self, name: &str, type_: &str, wanted: &str) -> Value {
        let what = format!("{type_} of {name} to be {wanted}");
        self.until(&what, "ra", name, |analysis| condition(analysis, type_) == wanted)
            .await
    }

    /// Waits until `web` is paused by exactly these field managers; none: not paused.
    pub(crate) async fn until_paused_by(&self, managers: &[&str]) -> Value {
        let mut wanted: Vec<String> = managers.iter().map(|manager| (*manager).to_owned()).collect();
        wanted.sort();
        let what = format!("web to be paused by {wanted:?}");
        self.until(&what, "deployment", "web", |web| {
            pausers(web) == wanted && (web["spec"]["paused"] == true) != wanted.is_empty()
        })
        .await
    }

    /// The image of the template that has rolled out everywhere.
    pub(crate) async fn until_rolled_out(&self, image: &str) {
        self.until("web to roll out", "deployment", "web", |web| {
            let status = &web["status"];
            web["spec"]["template"]["spec"]["containers"][0]["image"] == image
                && status["observedGeneration"] == web["metadata"]["generation"]
                && status["updatedReplicas"] == 8
                && status["availableReplicas"] == 8
        })
        .await;
    }

    /// Notes of the Events with this reason about a kind.
    pub(crate) async fn events(&self, kind: &str, reason: &str) -> Vec<String> {
        let text = self.kubectl(&["get", "events.events.k8s.io", "--output=json"]).await;
        let list: Value = serde_json::from_str(&text).unwrap();
        let events = list["items"].as_array().unwrap().iter();
        let told = events.filter(|event| event["reason"] == reason && event["regarding"]["kind"] == kind);
        told.map(|event| event["note"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// The field manager of the analysis with this uid.
pub(crate) fn manager(uid: &str) -> String {
    format!("streaming-operator/ra-{uid}")
}

/// `status/reason` of a condition.
pub(crate) fn condition(object: &Value, type_: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == type_);
    let text = |field: &str| {
        let value = found.and_then(|condition| condition[field].as_str());
        value.unwrap_or_default().to_owned()
    };
    format!("{}/{}", text("status"), text("reason"))
}

/// The field managers that have `spec.paused`, sorted.
fn pausers(deployment: &Value) -> Vec<String> {
    let entries = deployment["metadata"]["managedFields"].as_array().into_iter().flatten();
    let pausers = entries.filter(|entry| entry["fieldsV1"]["f:spec"]["f:paused"].is_object());
    let mut pausers: Vec<_> = pausers
        .map(|entry| entry["manager"].as_str().unwrap().to_owned())
        .collect();
    pausers.sort();
    pausers
}
