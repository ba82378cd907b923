//! The controller over the in-process API server, on its clock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use streaming_operator::analyses::{self, AnalysisContext, AskSources};
use streaming_operator::caches::{Analyses, Pipelines, Scope, Triggers};
use streaming_operator::client::Gated;
use streaming_operator::controller::legacy::{LegacyRights, LegacySettings};
use streaming_operator::controller::namespaces::Namespaces;
use streaming_operator::controller::{self, Clock, Context, World};
use streaming_operator::core::settings::Settings;
use streaming_operator::leader::WriteGate;
use streaming_operator::telemetry::Metrics;
use testkit::fake_api::FakeApi;
use testkit::fixtures;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub(crate) const PIPELINES: &str = "streams.sentry.io/streamingpipelines";
pub(crate) const REVISIONS: &str = "apps/controllerrevisions";

/// A running controller; dropped where it stands, as a killed process is.
pub(crate) struct Operator {
    _tasks: JoinSet<()>,
    metrics: Metrics,
}

/// How it runs.
#[derive(Clone, Default)]
pub(crate) struct Mode {
    pub(crate) workload_namespace: Option<&'static str>,
    pub(crate) gate: Option<WriteGate>,
    /// Most Pod writes in flight; the default of the flag when it is not said.
    pub(crate) pod_writes: Option<usize>,
    pub(crate) legacy: LegacySettings,
    /// Who answers the queries of analyses; without it no analysis is looked at.
    pub(crate) sources: Option<AskSources>,
}

impl Operator {
    /// Starts one whose requests carry `name`.
    pub(crate) fn start(api: &FakeApi, name: &str, mode: &Mode) -> Self {
        let gate = mode.gate.clone().unwrap_or_else(WriteGate::always_open);
        let client = ClientBuilder::new(api.service(name), "default")
            .with_layer(&Gated(gate))
            .build();
        let metrics = Metrics::new("0.0.0", "test", true);
        let triggers = Triggers::new(metrics.clone());
        let analyses = Analyses::new(&[], triggers.clone());
        if mode.sources.is_none() {
            // Nobody watches them: the list was empty.
            analyses.take(&Scope::All, Event::Init);
            analyses.take(&Scope::All, Event::InitDone);
        }
        let targets = analyses.clone();
        let pipelines = Pipelines::new(&[], mode.workload_namespace, triggers.clone(), move |event| {
            targets.saw_pipeline(event);
        });
        let world = World::new(pipelines.clone(), triggers.clone(), &[], mode.workload_namespace);
        let world = Arc::new(world.with_takeover(mode.legacy.takeover));
        let clock = api.clone();
        let reporter = Reporter {
            controller: "streaming-operator".to_owned(),
            instance: Some(name.to_owned()),
        };
        let context = Arc::new(Context {
            client: client.clone(),
            pipelines: pipelines.clone(),
            analyses: analyses.clone(),
            world: Arc::clone(&world),
            triggers,
            settings: Settings::default(),
            clock: Clock::other(move || clock.now()),
            metrics: metrics.clone(),
            recorder: Recorder::new(client.clone(), reporter),
            pod_writes: Semaphore::new(mode.pod_writes.unwrap_or(32)),
            namespaces: Namespaces::default(),
            legacy: mode.legacy.clone(),
            legacy_rights: LegacyRights::default(),
            stored_revisions: Mutex::new(HashMap::new()),
        });
        let mut tasks = JoinSet::new();
        let never = CancellationToken::new();
        tasks.spawn(pipelines.run(client.clone(), never.clone()));
        tasks.spawn(controller::watch(client.clone(), world, never.clone()));
        if let Some(sources) = &mode.sources {
            tasks.spawn(analyses.run(client, never.clone()));
            let context = AnalysisContext::new(Arc::clone(&context), sources.clone(), false);
            tasks.spawn(analyses::lead(Arc::new(context), never.clone()));
        }
        tasks.spawn(controller::lead(context, never));
        Self { _tasks: tasks, metrics }
    }

    /// The value of a series; 0 when it is not there.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let text = self.metrics.exposition().expect("text");
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
        value.unwrap_or(0)
    }
}

/// Plays the kubelet: Pods become Ready a second after they are created, and are gone a second after their deletion.
pub(crate) fn kubelet(api: &FakeApi) -> JoinSet<()> {
    let api = api.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            api.changed().await;
            sleep(Duration::from_secs(1)).await;
            let now = api.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            for pod in api.list("pods").into_values() {
                let (namespace, name) = (text(&pod, "/metadata/namespace"), text(&pod, "/metadata/name"));
                if pod.pointer("/metadata/deletionTimestamp").is_some() {
                    api.remove("pods", &namespace, &name);
                } else if pod.pointer("/status/phase").is_none() {
                    api.edit("pods", &namespace, &name, |pod| pod["status"] = running(&now));
                }
            }
        }
    });
    tasks
}

/// The status of a Pod that became Ready at this time.
pub(crate) fn running(now: &str) -> Value {
    json!({
        "phase": "Running",
        "startTime": now,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
        "containerStatuses": [{
            "name": "pipeline-consumer", "ready": true, "started": true, "restartCount": 0, "image": "i", "imageID": "i",
            "state": {"running": {"startedAt": now}},
        }],
    })
}

/// Waits until nothing has been written for ten minutes.
pub(crate) async fn settle(api: &FakeApi) {
    loop {
        let before = api.writes().len();
        sleep(Duration::from_secs(600)).await;
        if api.writes().len() == before {
            return;
        }
    }
}

/// A pipeline of one consumer image.
pub(crate) fn pipeline(name: &str, replicas: u16, image: &str) -> Value {
    let edit = json!({
        "pipeline_name": name, "image_name": image, "cpu_per_process": 100, "memory_per_process": 64,
        "replicas": replicas,
    });
    let mut pipeline = fixtures::edited(name, &edit);
    pipeline["metadata"]["namespace"] = json!("ns");
    pipeline
}

/// The text at a pointer; empty when there is none.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// `status reason` of a condition of a pipeline; empty when it has none.
pub(crate) fn condition(api: &FakeApi, name: &str, type_: &str) -> String {
    let condition = whole_condition(api, name, type_);
    condition
        .map(|condition| format!("{} {}", text(&condition, "/status"), text(&condition, "/reason")))
        .unwrap_or_default()
}

/// What a condition of a pipeline says to people; empty when it has none.
pub(crate) fn message(api: &FakeApi, name: &str, type_: &str) -> String {
    let condition = whole_condition(api, name, type_);
    condition
        .map(|condition| text(&condition, "/message"))
        .unwrap_or_default()
}

fn whole_condition(api: &FakeApi, name: &str, type_: &str) -> Option<Value> {
    let pipeline = api.get(PIPELINES, "ns", name).expect("a pipeline");
    let conditions = pipeline
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .cloned();
    let mut conditions = conditions.unwrap_or_default().into_iter();
    conditions.find(|condition| condition["type"] == type_)
}

/// `set/ordinal image` of each Pod, sorted.
pub(crate) fn pods(api: &FakeApi) -> Vec<String> {
    let mut pods: Vec<String> = api
        .list("pods")
        .values()
        .map(|pod| {
            let label = |name: &str| text(pod, &format!("/metadata/labels/streams.sentry.io~1{name}"));
            let image = text(pod, "/spec/containers/0/image");
            format!("{}/{} {image}", label("workload-set"), label("ordinal"))
        })
        .collect();
    pods.sort();
    pods
}
