//! A control plane on which the Python operator has run some pipelines and was stopped.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::install::Roles;
use testkit::operator::Launch;
use testkit::wait::{self, Seen};
use testkit::{assets, users};
use tokio::sync::OnceCell;

use crate::pipelines::{BAD_IMAGE, Pipeline, ten, three};
use crate::python::{self, Release};

/// What a move is given on a slow machine.
pub(crate) const SOON: Duration = Duration::from_secs(240);

/// Name of a pipeline whose Deployment hangs in a rolling update.
const HANGS: &str = "hangs";

static CLUSTER: Shared = Shared::new(Options::full(4));
static BED: OnceCell<Bed> = OnceCell::const_new();

/// Pipelines of one test, in a namespace of their own.
pub(crate) struct Group {
    pub(crate) namespace: String,
    /// Their `service_name`.
    pub(crate) service: String,
    pub(crate) pipelines: Vec<Pipeline>,
}

/// The control plane, and the groups of all tests: the Python operator takes every pipeline that it sees.
pub(crate) struct Bed {
    pub(crate) cluster: &'static ControlPlane,
    /// Where the Python operator ran all Deployments.
    pub(crate) old: String,
    pub(crate) ten: Group,
    pub(crate) same: Group,
    pub(crate) edited: Group,
    pub(crate) rights: Group,
    /// Before the Python operator was stopped it began a rolling update of these that never ends: the image cannot be pulled.
    pub(crate) surging: Group,
    /// One for each number of writes after which the operator is killed; its pipeline [`HANGS`] is in such an update too.
    pub(crate) killed: Vec<(u64, Group)>,
}

/// The numbers of writes after which the operator is killed.
fn kills() -> Vec<u64> {
    let all = std::env::var("STREAMS_TEST_KILLS").ok();
    let all: Option<u64> = all.and_then(|number| number.parse().ok());
    all.map_or_else(|| vec![4, 9], |last| (1..=last).collect())
}

impl Bed {
    /// The one of this binary.
    pub(crate) async fn get() -> &'static Self {
        BED.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        let cluster = CLUSTER.get().await.unwrap();
        cluster.install_crds(&assets::repository().join("crds")).await.unwrap();
        let mut killed = Vec::new();
        for number in kills() {
            let mut pipelines = three();
            pipelines.push(Pipeline::new(HANGS, 2));
            killed.push((
                number,
                Group::create(cluster, &format!("killed{number}"), pipelines).await,
            ));
        }
        let bed = Self {
            cluster,
            old: cluster.namespace("streaming-pipelines").await.unwrap(),
            ten: Group::create(cluster, "ten", ten()).await,
            same: Group::create(cluster, "same", three()).await,
            edited: Group::create(cluster, "edited", vec![Pipeline::new("p", 6).slow()]).await,
            rights: Group::create(cluster, "rights", vec![Pipeline::new("p", 2)]).await,
            surging: Group::create(
                cluster,
                "surging",
                vec![Pipeline::new("one", 1), Pipeline::new("four", 4)],
            )
            .await,
            killed,
        };
        let operator = python::start(cluster, &bed.old, Release::Latest).await;
        for group in bed.groups() {
            group.until_run_by_deployments(cluster, &bed.old).await;
        }
        bed.surging.edit(cluster, BAD_IMAGE).await;
        for (_, group) in &bed.killed {
            group.edit_one(cluster, HANGS, BAD_IMAGE).await;
        }
        bed.surging.until_it_surges(cluster, &bed.old, "one", "1:2/1").await;
        bed.surging.until_it_surges(cluster, &bed.old, "four", "4:5/2").await;
        for (_, group) in &bed.killed {
            group.until_it_surges(cluster, &bed.old, HANGS, "2:3/1").await;
        }
        python::stop(&operator).await;
        // Mended, but nobody applies that to the Deployment any more.
        for (_, group) in &bed.killed {
            group.edit_one(cluster, HANGS, "registry.example/consumer:2").await;
        }
        bed
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
        let killed = self.killed.iter().map(|(_, group)| group);
        [&self.ten, &self.same, &self.edited, &self.rights, &self.surging]
            .into_iter()
            .chain(killed)
    }

    /// The operator of a group: it has the chart's rights, and leaves a Deployment alone for a second only, for the Python
    /// operator has ended.
    pub(crate) async fn launch(&self, group: &Group, user: &str) -> Launch {
        let roles = self.roles(group, user);
        self.cluster.install_roles(&roles).await.unwrap();
        let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), self.cluster, &group.namespace).unwrap();
        Launch {
            kubeconfig: self.cluster.kubeconfig(user).unwrap(),
            ..launch
        }
        .with(&[
            "--watch-namespace",
            &group.namespace,
            "--webhook-enabled",
            "false",
            "--legacy-grace",
            "1s",
        ])
        .with(&["--leader-elect", "false"])
    }

    /// What the chart grants for that, with `settings.legacyNamespace`.
    pub(crate) fn roles(&self, group: &Group, user: &str) -> Roles {
        Roles {
            legacy_namespace: (user == users::OPERATOR).then(|| self.old.clone()),
            full_name: group.service.clone(),
            user: user.to_owned(),
            ..Roles::within(&group.namespace, &[&group.namespace])
        }
    }
}

impl Group {
    /// Creates the pipelines.
    pub(crate) async fn create(cluster: &ControlPlane, service: &str, pipelines: Vec<Pipeline>) -> Self {
        let namespace = cluster.namespace(service).await.unwrap();
        let objects: Vec<Value> = pipelines
            .iter()
            .map(|pipeline| pipeline.manifest(&namespace, service))
            .collect();
        cluster.apply(&objects).await.unwrap();
        Self {
            namespace,
            service: service.to_owned(),
            pipelines,
        }
    }

    /// Waits until the Python operator runs all of them, every consumer available.
    pub(crate) async fn until_run_by_deployments(&self, cluster: &ControlPlane, old: &str) {
        let wanted: usize = self
            .pipelines
            .iter()
            .map(|pipeline| pipeline.bounds(&self.service).replicas)
            .sum();
        let path = "jsonpath={range .items[*]}{.status.availableReplicas} {end}";
        let selector = format!("--selector=service={}", self.service);
        let look = async || {
            let text = cluster
                .kubectl(&["get", "deployments", "--namespace", old, &selector, "--output", path])
                .await?;
            let available: usize = text
                .split_whitespace()
                .filter_map(|number| number.parse::<usize>().ok())
                .sum();
            Ok(Seen::when(available, |available| *available == wanted))
        };
        let what = format!("the Python operator to run {}", self.service);
        wait::until(&what, SOON, look).await.unwrap();
    }

    /// Gives all of them another image.
    pub(crate) async fn edit(&self, cluster: &ControlPlane, image: &str) {
        for pipeline in &self.pipelines {
            self.edit_one(cluster, &pipeline.object(), image).await;
        }
    }

    async fn edit_one(&self, cluster: &ControlPlane, object: &str, image: &str) {
        let edit = json!({"spec": {"image_name": image}}).to_string();
        let (kind, namespace) = (["patch", "spipe", object], ["--namespace", &self.namespace]);
        let arguments = [&kind[..], &namespace, &["--type=merge", "--patch", &edit]].concat();
        cluster.kubectl(&arguments).await.unwrap();
    }

    /// Waits until the Deployment of a pipeline shows more Pods than it was given. `stand` is its number, the Pods that it
    /// has, and how many of them are of its template.
    async fn until_it_surges(&self, cluster: &ControlPlane, old: &str, object: &str, stand: &str) {
        let path = "jsonpath={.spec.replicas}:{.status.replicas}/{.status.updatedReplicas}";
        let name = format!("{}-pipeline-{object}-0", self.service);
        let look = async || {
            let shown = cluster
                .kubectl(&["get", "deployment", &name, "--namespace", old, "--output", path])
                .await?;
            Ok(Seen::when(shown, |shown| shown == stand))
        };
        wait::until("a rolling update to hang", SOON, look).await.unwrap();
    }

    /// Waits until this operator runs all of them: Ready, and nothing of the Python operator is left.
    pub(crate) async fn until_moved(&self, cluster: &ControlPlane, old: &str) -> anyhow::Result<()> {
        let what = format!("the move of {}", self.service);
        wait::until(&what, SOON, async || {
            let left = self.left(cluster, old).await?;
            Ok(if left.is_empty() {
                Seen::Yes(())
            } else {
                Seen::NotYet(left.join("\n"))
            })
        })
        .await
    }

    /// What is not as it is to be once all are moved.
    pub(crate) async fn left(&self, cluster: &ControlPlane, old: &str) -> anyhow::Result<Vec<String>> {
        let selector = format!("--selector=service={}", self.service);
        let kinds = "deployments,replicasets,configmaps";
        let labels = r#"jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.labels.pipeline\.streams\.sentry\.io/owner-uid}{"\n"}{end}"#;
        let found = cluster
            .kubectl(&["get", kinds, "--namespace", old, &selector, "--output", labels])
            .await?;
        let is_theirs = |line: &&str| !line.starts_with("ConfigMap/") || line.split_whitespace().count() > 1;
        let mut left: Vec<String> = found.lines().filter(is_theirs).map(str::to_owned).collect();
        for pipeline in self.objects(cluster).await? {
            let name = pipeline["metadata"]["name"].as_str().unwrap_or_default();
            let conditions = pipeline["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
            let is_seen = pipeline["status"]["observedGeneration"] == pipeline["metadata"]["generation"];
            if !ready.is_some_and(|ready| ready["status"] == "True" && ready["reason"] == "Ready" && is_seen) {
                left.push(format!("{name} is not Ready: {ready:?}"));
            }
            let metadata = pipeline["metadata"].to_string();
            if metadata.contains("\"kopf.zalando.org/") {
                left.push(format!("{name} has marks: {metadata}"));
            }
        }
        Ok(left)
    }

    /// The pipelines as they are.
    pub(crate) async fn objects(&self, cluster: &ControlPlane) -> anyhow::Result<Vec<Value>> {
        let text = cluster
            .kubectl(&["get", "spipe", "--namespace", &self.namespace, "--output=json"])
            .await?;
        let list: Value = serde_json::from_str(&text)?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Deletes every pipeline; its Pods go with it.
    pub(crate) async fn delete(&self, cluster: &ControlPlane, pods: &str) {
        cluster
            .kubectl(&[
                "delete",
                "spipe",
                "--all",
                "--namespace",
                &self.namespace,
                "--timeout=100s",
            ])
            .await
            .unwrap();
        let selector = format!("--selector=service={}", self.service);
        let look = async || {
            let left = cluster
                .kubectl(&["get", "pods", "--namespace", pods, &selector, "--output=name"])
                .await?;
            Ok(Seen::when(left, String::is_empty))
        };
        wait::until("the Pods to go", SOON, look).await.unwrap();
    }
}
