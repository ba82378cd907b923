//! Analyses of pipelines: a stub answers their queries, and time is paused.

mod outages;
mod rollouts;
mod targets;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use streaming_operator::analyses::AskSources;
use streaming_operator::core::analysis::answer::{QueryError, Series};
use testkit::fake_api::FakeApi;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::operator::{Mode, Operator, PIPELINES, kubelet, pipeline, text};

pub(super) const ANALYSES: &str = "streams.sentry.io/rolloutanalyses";

/// How the metrics source answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// With a series a value.
    Values(Vec<f64>),
    /// Not at all.
    Down,
    /// Every other query not at all.
    Flaps(f64),
    /// It refuses the query.
    Rejects,
    /// There is none of that name.
    Unknown,
    /// After so long.
    Slow(Duration, f64),
}

/// Good.
pub(super) fn good() -> Answer {
    Answer::Values(vec![0.2])
}

/// Worse than it may be.
pub(super) fn bad() -> Answer {
    Answer::Values(vec![0.31])
}

/// The metrics source.
#[derive(Clone)]
pub(super) struct Source {
    answer: Arc<Mutex<Answer>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Source {
    fn new(answer: Answer) -> Self {
        Self {
            answer: Arc::new(Mutex::new(answer)),
            asked: Arc::default(),
        }
    }

    /// Answers so from now on.
    pub(super) fn answers(&self, answer: Answer) {
        *self.answer.lock().expect("no panic") = answer;
    }

    /// The queries so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }

    fn ask(&self) -> AskSources {
        let source = self.clone();
        AskSources::other(move |_, query, deadline| {
            let mut asked = source.asked.lock().expect("no panic");
            asked.push(query);
            let (answer, number) = (source.answer.lock().expect("no panic").clone(), asked.len());
            async move { reply(answer, number, deadline).await }
        })
    }
}

async fn reply(answer: Answer, number: usize, deadline: Duration) -> Result<Vec<Series>, QueryError> {
    let down = || Err(QueryError::Unavailable("default answers 503".to_owned()));
    match answer {
        Answer::Values(values) => Ok(series(&values)),
        Answer::Down => down(),
        Answer::Flaps(_) if number % 2 == 1 => down(),
        Answer::Flaps(value) => Ok(series(&[value])),
        Answer::Rejects => Err(QueryError::Rejected("default refuses the query: no".to_owned())),
        Answer::Unknown => Err(QueryError::UnknownSource(
            "no source default; configured: none".to_owned(),
        )),
        Answer::Slow(after, value) => match timeout(deadline, sleep(after)).await {
            Ok(()) => Ok(series(&[value])),
            Err(_) => Err(QueryError::Unavailable("default did not answer in time".to_owned())),
        },
    }
}

fn series(values: &[f64]) -> Vec<Series> {
    let series = values.iter().zip(0..).map(|(value, index)| Series {
        labels: BTreeMap::from([("pod".to_owned(), format!("pod-{index}"))]),
        value: *value,
    });
    series.collect()
}

/// A pipeline `p` of four Pods with a canary at `image:1`, and who looks after it.
pub(super) struct Bed {
    pub(super) api: FakeApi,
    pub(super) source: Source,
    operator: Option<Operator>,
    _kubelet: JoinSet<()>,
}

impl Bed {
    /// The pipeline has completed its first revision.
    pub(super) async fn new(answer: Answer) -> Self {
        let api = FakeApi::new();
        let source = Source::new(answer);
        let bed = Self {
            _kubelet: kubelet(&api),
            operator: Some(operator(&api, "first", &source)),
            api,
            source,
        };
        let mut created = pipeline("p", 4, "image:1");
        created["spec"]["with_canary"] = json!(true);
        bed.api.put(PIPELINES, created);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(bed.images(), ["image:1"; 4]);
        bed
    }

    /// Another operator takes over, as after a restart.
    pub(super) fn another_leads(&mut self) {
        self.nobody_leads();
        self.operator = Some(operator(&self.api, "second", &self.source));
    }

    pub(super) fn nobody_leads(&mut self) {
        self.operator = None;
    }

    /// The value of a metric of the operator that leads.
    pub(super) fn metric(&self, series: &str) -> u64 {
        self.operator.as_ref().map_or(0, |operator| operator.metric(series))
    }

    /// An analysis of `p`: 3 failures fail, 2 passes pass, every 30 s.
    pub(super) fn analyse(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut analysis = json!({
            "apiVersion": "streams.sentry.io/v1alpha1", "kind": "RolloutAnalysis",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {
                "target": {"kind": "StreamingPipeline", "name": "p"},
                "metrics": [{"name": "p99-latency", "query": "lag{pod=~\"$(canaryPods)\"}", "maxValue": 0.25}],
                "requiredPasses": 2,
            },
        });
        change(&mut analysis);
        self.api.put(ANALYSES, analysis);
    }

    /// Rolls out an image; the canary is available a few seconds later.
    pub(super) fn roll_out(&self, image: &str) {
        self.edit(|pipeline| pipeline["spec"]["image_name"] = json!(image));
    }

    pub(super) fn edit(&self, change: impl FnOnce(&mut Value)) {
        self.api.edit(PIPELINES, "ns", "p", change);
    }

    /// Annotates the pipeline with an order to resume its revision, of now.
    pub(super) fn resume(&self) {
        let now = self.api.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        self.edit(|pipeline| {
            let revision = text(pipeline, "/status/updateRevision");
            pipeline["metadata"]["annotations"]["streams.sentry.io/resume"] = json!(format!("{revision}@{now}"));
        });
    }

    /// The images that run, sorted.
    pub(super) fn images(&self) -> Vec<String> {
        let pods = self.api.list("pods");
        let live = pods
            .values()
            .filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_none());
        let mut images: Vec<_> = live.map(|pod| text(pod, "/spec/containers/0/image")).collect();
        images.sort();
        images
    }

    /// `verdict failures/passes lastVerdict` of an analysis.
    pub(super) fn verdict(&self, name: &str) -> String {
        let analysis = self.api.get(ANALYSES, "ns", name).expect("an analysis");
        let number = |field: &str| analysis["status"][field].as_i64().unwrap_or(-1);
        format!(
            "{} {}/{} {}",
            text(&analysis, "/status/verdict"),
            number("failures"),
            number("passes"),
            text(&analysis, "/status/lastVerdict")
        )
    }

    /// The verdict of an analysis, as [`Bed::verdict`] has it, begins so.
    #[track_caller]
    pub(super) fn assert_verdict(&self, name: &str, beginning: &str) {
        let verdict = self.verdict(name);
        assert!(verdict.starts_with(beginning), "{verdict}");
    }

    /// `status reason` of a condition of an analysis.
    pub(super) fn condition(&self, name: &str, type_: &str) -> String {
        let analysis = self.api.get(ANALYSES, "ns", name).expect("an analysis");
        let conditions = analysis
            .pointer("/status/conditions")
            .and_then(Value::as_array)
            .cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let found = conditions
            .find(|condition| condition["type"] == type_)
            .unwrap_or_default();
        format!("{} {}", text(&found, "/status"), text(&found, "/reason"))
    }

    /// `Kind reason: note` of every Event with one of these reasons, in the order of their names.
    pub(super) fn events(&self, reasons: &[&str]) -> Vec<String> {
        let events = self.api.list("events.k8s.io/events").into_values();
        let mut told: Vec<(String, String)> = events
            .filter(|event| reasons.contains(&text(event, "/reason").as_str()))
            .map(|event| {
                let (kind, reason) = (text(&event, "/regarding/kind"), text(&event, "/reason"));
                (
                    text(&event, "/eventTime"),
                    format!("{kind} {reason}: {}", text(&event, "/note")),
                )
            })
            .collect();
        told.sort();
        told.into_iter().map(|(_, told)| told).collect()
    }
}

fn operator(api: &FakeApi, name: &str, source: &Source) -> Operator {
    let mode = Mode {
        sources: Some(source.ask()),
        ..Mode::default()
    };
    Operator::start(api, name, &mode)
}

/// So many seconds later.
pub(super) async fn later(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
