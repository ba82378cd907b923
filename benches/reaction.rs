//! `make bench ONLY=reaction`: how soon the operator answers a Pod that fails, a Pod that is deleted, and an edit.
//!
//! The clock is the API server's: its audit log says when it received the change, and when our write. Prints one line of
//! JSON, all times in milliseconds; `tests/bench/reaction.py` makes figures of them. Must never measure with a clock of
//! its own.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use testkit::audit::{Mark, Record};
use testkit::control_plane::{ControlPlane, Options};
use testkit::install::{Roles, Webhooks};
use testkit::operator::{Launch, Operator};
use testkit::wait::{self, Seen};
use testkit::{assets, fixtures, pods, users};
use tokio::time::{MissedTickBehavior, interval};

const NAMESPACE: &str = "bench";
const PIPELINES: usize = 20;
/// Pods of each: 240, of which each fails once and is deleted once.
const REPLICAS: usize = 12;
/// Pods of each pipeline that is edited.
const EDITED_REPLICAS: usize = 2;
/// Each of the pipelines is edited so often.
const EDITS: usize = 6;
/// Between two changes: ten a second are far more than a cluster has, and far less than would queue.
const PACE: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_secs(180);

struct Bed {
    cluster: ControlPlane,
    admin: Client,
    operator: Operator,
}

impl Bed {
    async fn start() -> Result<Self> {
        let cluster = ControlPlane::start(Options::full(4)).await?;
        cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
        cluster.install_crds(&assets::repository().join("crds")).await?;
        cluster.install_roles(&Roles::everywhere(NAMESPACE)).await?;
        let launch = Launch::new(env!("CARGO_BIN_EXE_streaming-operator"), &cluster, NAMESPACE)?;
        cluster
            .install_webhooks(&Webhooks::new(NAMESPACE, launch.webhook_port))
            .await?;
        let operator = launch.start()?;
        operator.ready().await?;
        Ok(Self {
            admin: cluster.admin().await?,
            cluster,
            operator,
        })
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.admin.clone(), NAMESPACE)
    }

    fn pipelines(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("streams.sentry.io", "v1alpha1", "StreamingPipeline");
        let resource = ApiResource::from_gvk_with_plural(&kind, "streamingpipelines");
        Api::namespaced_with(self.admin.clone(), NAMESPACE, &resource)
    }

    async fn create(&self, prefix: &str, replicas: usize) -> Result<()> {
        for n in 0..PIPELINES {
            let object = serde_json::from_value(pipeline(&format!("{prefix}{n}"), replicas))?;
            self.pipelines().create(&PostParams::default(), &object).await?;
        }
        self.until_all_are_ready().await
    }

    async fn until_all_are_ready(&self) -> Result<()> {
        let look = async || {
            let all = self.pipelines().list(&ListParams::default()).await?;
            let waits = all.items.iter().filter(|object| !is_ready(object));
            let names: Vec<_> = waits.filter_map(|object| object.metadata.name.clone()).collect();
            Ok(Seen::when(names, Vec::is_empty))
        };
        let ready = wait::until("all pipelines to be ready", SOON, look).await.map(drop);
        ready.with_context(|| self.operator.log_tail(40))
    }

    async fn names_of_pods(&self) -> Result<Vec<String>> {
        let pods = self.pods().list_metadata(&ListParams::default()).await?;
        Ok(pods.items.into_iter().filter_map(|pod| pod.metadata.name).collect())
    }

    async fn records(&self, mark: Mark) -> Result<Vec<Record>> {
        let mut records = self.cluster.audit().since(mark, &self.admin).await?;
        records.retain(|record| record.is_write() && record.succeeded() && record.namespace == NAMESPACE);
        records.sort_by_key(|record| record.received);
        Ok(records)
    }

    /// Lets each Pod fail for the first time, and then each replacement be deleted; the times until the next create.
    async fn heals(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        let mark = self.cluster.audit().mark(&self.admin).await?;
        let mut pace = pace();
        for name in self.names_of_pods().await? {
            pace.tick().await;
            pods::fail_pod(&self.admin, NAMESPACE, &name, 1, "Error").await?;
        }
        self.until_all_are_ready().await?;
        let failures = heals(&self.records(mark).await?, &|record| record.is("patch", "pods/status"));
        let mark = self.cluster.audit().mark(&self.admin).await?;
        for name in self.names_of_pods().await? {
            pace.tick().await;
            self.pods().delete(&name, &DeleteParams::default()).await?;
        }
        self.until_all_are_ready().await?;
        let deletions = heals(&self.records(mark).await?, &|record| record.is("delete", "pods"));
        let wanted = PIPELINES * REPLICAS;
        ensure!(
            failures.len() == wanted && deletions.len() == wanted,
            "{} failures and {} deletions were answered, of {wanted} each",
            failures.len(),
            deletions.len()
        );
        Ok((failures, deletions))
    }

    /// Edits each pipeline, waits until all are rolled out, and so on; the times until the first write of a Pod.
    async fn edits(&self) -> Result<Vec<f64>> {
        let mut pace = pace();
        let mut times = Vec::new();
        for round in 0..EDITS {
            let mark = self.cluster.audit().mark(&self.admin).await?;
            for n in 0..PIPELINES {
                pace.tick().await;
                let patch = Patch::Merge(json!({"spec": {"image_name": format!("image:{}", round + 2)}}));
                self.pipelines()
                    .patch(&format!("e{n}"), &PatchParams::default(), &patch)
                    .await?;
            }
            self.until_all_are_ready().await?;
            times.extend(edits(&self.records(mark).await?));
        }
        ensure!(times.len() == PIPELINES * EDITS, "{} edits were answered", times.len());
        Ok(times)
    }
}

fn pace() -> tokio::time::Interval {
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

fn is_ready(object: &DynamicObject) -> bool {
    let at = |pointer: &str| object.data.pointer(pointer);
    let is = |condition: &Value, field: &str, value: &str| condition.get(field).is_some_and(|found| found == value);
    let conditions = at("/status/conditions").and_then(Value::as_array);
    let ready = conditions.is_some_and(|all| {
        all.iter()
            .any(|one| is(one, "type", "Ready") && is(one, "status", "True"))
    });
    // Without Pods that still end: what is deleted next is to be what runs.
    ready
        && at("/status/observedGeneration").and_then(Value::as_i64) == object.metadata.generation
        && at("/status/terminatingReplicas")
            .and_then(Value::as_i64)
            .unwrap_or_default()
            == 0
}

fn milliseconds(from: &Record, to: &Record) -> f64 {
    to.received.duration_since(from.received).as_secs_f64() * 1000.0
}

/// Name of a Pod less its generation: its place.
fn place(record: &Record) -> String {
    let body = record.body.as_ref();
    let in_body = body.and_then(|body| body.pointer("/metadata/name")?.as_str());
    let name = in_body.filter(|_| record.verb == "create").unwrap_or(&record.name);
    name.rsplit_once('-').map_or(name, |(place, _)| place).to_owned()
}

/// From each change of a Pod that somebody else made to our create at its place.
fn heals(records: &[Record], changes: &dyn Fn(&Record) -> bool) -> Vec<f64> {
    let mut open: BTreeMap<String, &Record> = BTreeMap::new();
    let mut times = Vec::new();
    for record in records {
        if record.user == users::ADMIN && changes(record) {
            open.insert(place(record), record);
        } else if record.user == users::OPERATOR
            && record.is("create", "pods")
            && let Some(change) = open.remove(&place(record))
        {
            times.push(milliseconds(change, record));
        }
    }
    times
}

/// From each edit to our first write of a Pod of that pipeline.
fn edits(records: &[Record]) -> Vec<f64> {
    let mut open: BTreeMap<String, &Record> = BTreeMap::new();
    let mut times = Vec::new();
    for record in records {
        if record.user == users::ADMIN && record.is("patch", "streamingpipelines") {
            open.insert(format!("svc-pipeline-{}-0", record.name), record);
        } else if record.user == users::OPERATOR && (record.is("create", "pods") || record.is("delete", "pods")) {
            let place = place(record);
            let base = place.rsplit_once('-').map_or(place.as_str(), |(base, _)| base);
            times.extend(open.remove(base).map(|edit| milliseconds(edit, record)));
        }
    }
    times
}

fn pipeline(name: &str, replicas: usize) -> Value {
    let edit = json!({
        "pipeline_name": name, "image_name": "image:1", "cpu_per_process": 10, "memory_per_process": 16,
        "replicas": replicas,
    });
    let mut pipeline = fixtures::edited(name, &edit);
    if let Some(metadata) = pipeline.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), json!(NAMESPACE));
    }
    pipeline
}

#[tokio::main]
async fn main() -> Result<()> {
    let bed = Bed::start().await?;
    bed.create("h", REPLICAS).await?;
    let (failures, deletions) = bed.heals().await?;
    bed.create("e", EDITED_REPLICAS).await?;
    let edits = bed.edits().await?;
    println!(
        "{}",
        json!({"failures": failures, "deletions": deletions, "edits": edits})
    );
    bed.operator.terminate()?;
    bed.operator.wait().await?;
    bed.cluster.stop().await
}
