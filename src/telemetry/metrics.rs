//! Every metric of the operator, in one struct. Names are an API. Must never carry an object's name in a label, but for
//! `pipeline_replicas`, which can be switched off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::analyses::AnalysisMetrics;
use super::labels::{
    AdmissionKind, AdmissionLabels, AdmissionOperation, AdmissionOutcome, AdmissionPath, ApiLabels, ApiResource,
    CertificateRole, ClassLabel, Code, FindingLabel, OrphanFinding, PathLabel, PhaseLabel, PipelineLabels, PodVerdict,
    ReconcileResult, ReplicaState, ResultLabel, RetryClass, RoleLabel, RolloutPhase, SourceLabel, SourceLabels,
    SourceOutcome, Verb, VerdictLabel,
};
use super::process::ProcessCollector;

/// `Content-Type` of [`Metrics::exposition`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the durations of reconciles, in seconds: one without writes takes a millisecond, one with many seconds.
const RECONCILE_BUCKETS_SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Upper bounds of the durations of admission requests, in seconds: most take a tenth of a millisecond, and none more
/// than the deadline of 4 s.
const ADMISSION_BUCKETS_SECONDS: [f64; 14] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
];

/// Upper bounds of the durations of requests to metrics sources, in seconds: a small query takes milliseconds, and none more
/// than the source's time-out, 10 s by default.
const SOURCE_BUCKETS_SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

type HistogramFamily<L> = Family<L, Histogram, fn() -> Histogram>;

/// All metrics. Cheap to clone; clones count into the same figures.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<ResultLabel, Counter>,
    reconcile_duration: Histogram,
    queue_depth: Gauge,
    requeues: Counter,
    retries: Family<ClassLabel, Counter>,
    api_requests: Family<ApiLabels, Counter>,
    admissions: Family<AdmissionLabels, Counter>,
    admission_duration: HistogramFamily<PathLabel>,
    leader: Gauge,
    orphans: Family<FindingLabel, Gauge>,
    orphans_removed: Counter,
    certificate_expiry: Family<RoleLabel, Gauge>,
    source_requests: Family<SourceLabels, Counter>,
    source_duration: HistogramFamily<SourceLabel>,
    pipelines: Arc<Pipelines>,
    /// Those of analyses.
    pub analyses: AnalysisMetrics,
}

/// Figures of one pipeline, as its last reconcile saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineFigures {
    /// Number of Pods of each verdict.
    pub pods: BTreeMap<PodVerdict, i64>,
    /// Where its rollout stands.
    pub phase: Option<RolloutPhase>,
    /// Number of its replicas in each state.
    pub replicas: BTreeMap<ReplicaState, i64>,
}

impl Metrics {
    /// An empty set of metrics.
    ///
    /// `version` and `commit` go into `build_info`; with `pipeline_metrics` there are gauges for each pipeline.
    #[must_use]
    pub fn new(version: &str, commit: &str, pipeline_metrics: bool) -> Self {
        let admission: fn() -> Histogram = || Histogram::new(ADMISSION_BUCKETS_SECONDS);
        let source: fn() -> Histogram = || Histogram::new(SOURCE_BUCKETS_SECONDS);
        let mut metrics = Self {
            registry: Arc::new(Registry::default()),
            reconciles: Family::default(),
            reconcile_duration: Histogram::new(RECONCILE_BUCKETS_SECONDS),
            queue_depth: Gauge::default(),
            requeues: Counter::default(),
            retries: Family::default(),
            api_requests: Family::default(),
            admissions: Family::default(),
            admission_duration: Family::new_with_constructor(admission),
            leader: Gauge::default(),
            orphans: Family::default(),
            orphans_removed: Counter::default(),
            certificate_expiry: Family::default(),
            source_requests: Family::default(),
            source_duration: Family::new_with_constructor(source),
            pipelines: Arc::new(Pipelines {
                by_name: pipeline_metrics,
                figures: Mutex::default(),
            }),
            analyses: AnalysisMetrics::default(),
        };
        metrics.registry = Arc::new(metrics.register(version, commit));
        metrics
    }

    fn register(&self, version: &str, commit: &str) -> Registry {
        let mut root = Registry::default();
        root.register_collector(Box::new(ProcessCollector));
        let ours = root.sub_registry_with_prefix("streaming_operator");
        let build = Info::new(vec![
            ("version".to_owned(), version.to_owned()),
            ("commit".to_owned(), commit.to_owned()),
        ]);
        ours.register("build", "Version and commit of the running operator", build);
        ours.register(
            "reconcile",
            "Reconciles of pipelines by how they ended",
            self.reconciles.clone(),
        );
        ours.register_with_unit(
            "reconcile_duration",
            "Time from the start of a reconcile to the end of its last write",
            Unit::Seconds,
            self.reconcile_duration.clone(),
        );
        ours.register(
            "queue_depth",
            "Pipelines that have been triggered and whose reconcile has not begun",
            self.queue_depth.clone(),
        );
        ours.register(
            "requeues",
            "Reconciles that asked to be called again later",
            self.requeues.clone(),
        );
        ours.register(
            "retries",
            "Writes and reads that are tried again, by why",
            self.retries.clone(),
        );
        ours.register(
            "api_requests",
            "Requests to the API server; code none stands for no answer",
            self.api_requests.clone(),
        );
        ours.register(
            "admission_requests",
            "Admission requests by what was answered",
            self.admissions.clone(),
        );
        ours.register_with_unit(
            "admission_duration",
            "Time from the arrival of an admission request to its answer",
            Unit::Seconds,
            self.admission_duration.clone(),
        );
        ours.register(
            "leader",
            "1 while this replica holds the lease, else 0",
            self.leader.clone(),
        );
        ours.register(
            "orphans",
            "Pods and ConfigMaps of no known pipeline in the last sweep, by what was found; 0 on replicas that do not lead",
            self.orphans.clone(),
        );
        ours.register(
            "orphans_removed",
            "Pods and ConfigMaps that were removed because their pipeline is gone",
            self.orphans_removed.clone(),
        );
        ours.register_with_unit(
            "certificate_expiry_timestamp",
            "When the certificate expires, in Unix time",
            Unit::Seconds,
            self.certificate_expiry.clone(),
        );
        self.register_sources(ours);
        self.analyses.register(ours);
        ours.register_collector(Box::new(Arc::clone(&self.pipelines)));
        root
    }

    fn register_sources(&self, ours: &mut Registry) {
        ours.register(
            "metrics_source_requests",
            "Queries to metrics sources by how they ended",
            self.source_requests.clone(),
        );
        ours.register_with_unit(
            "metrics_source_request_duration",
            "Time from the wish to ask a metrics source to the end of its answer",
            Unit::Seconds,
            self.source_duration.clone(),
        );
    }

    /// All metrics as OpenMetrics text, of [`CONTENT_TYPE`].
    ///
    /// Fails only when a collector cannot write, which memory alone decides.
    pub fn exposition(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// One reconcile has ended after `duration`.
    pub fn reconciled(&self, result: ReconcileResult, duration: Duration) {
        self.reconciles.get_or_create(&ResultLabel { result }).inc();
        self.reconcile_duration.observe(duration.as_secs_f64());
    }

    /// Number of pipelines that wait for their reconcile.
    pub fn queue_depth(&self, depth: usize) {
        self.queue_depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// A reconcile asked to be called again at a time of its own.
    pub fn requeued(&self) {
        self.requeues.inc();
    }

    /// Something is tried again.
    pub fn retried(&self, class: RetryClass) {
        self.retries.get_or_create(&ClassLabel { class }).inc();
    }

    /// The API server answered a request with the HTTP status `code`, or not at all (0).
    pub fn api_request(&self, verb: Verb, resource: ApiResource, code: u16) {
        let labels = ApiLabels {
            verb,
            resource,
            code: Code(code),
        };
        self.api_requests.get_or_create(&labels).inc();
    }

    /// An admission request was answered.
    pub fn admission(&self, kind: AdmissionKind, operation: AdmissionOperation, outcome: AdmissionOutcome) {
        let labels = AdmissionLabels {
            kind,
            operation,
            outcome,
        };
        self.admissions.get_or_create(&labels).inc();
    }

    /// An admission request took `duration`.
    pub fn admission_duration(&self, path: AdmissionPath, duration: Duration) {
        let histogram = self.admission_duration.get_or_create(&PathLabel { path });
        histogram.observe(duration.as_secs_f64());
    }

    /// Whether this replica holds the lease.
    pub fn leader(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// What the last sweep found of objects whose pipeline is not known.
    pub fn orphans(&self, counts: &BTreeMap<OrphanFinding, i64>) {
        for &finding in OrphanFinding::ALL {
            let count = counts.get(&finding).copied().unwrap_or_default();
            self.orphans.get_or_create(&FindingLabel { finding }).set(count);
        }
    }

    /// An orphan was removed.
    pub fn orphan_removed(&self) {
        self.orphans_removed.inc();
    }

    /// The certificate of that role expires at `unix_seconds`.
    pub fn certificate_expiry(&self, role: CertificateRole, unix_seconds: i64) {
        self.certificate_expiry
            .get_or_create(&RoleLabel { role })
            .set(unix_seconds);
    }

    /// A request to the metrics source of that name has ended after `duration`.
    pub fn source_request(&self, source: &str, outcome: SourceOutcome, duration: Duration) {
        let source = source.to_owned();
        let histogram = self
            .source_duration
            .get_or_create(&SourceLabel { source: source.clone() });
        histogram.observe(duration.as_secs_f64());
        self.source_requests
            .get_or_create(&SourceLabels { source, outcome })
            .inc();
    }

    /// What the last reconcile of a pipeline saw.
    pub fn pipeline(&self, namespace: &str, name: &str, figures: PipelineFigures) {
        let key = (namespace.to_owned(), name.to_owned());
        self.pipelines.lock().insert(key, figures);
    }

    /// A pipeline is gone.
    pub fn forget_pipeline(&self, namespace: &str, name: &str) {
        self.pipelines.lock().remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// This replica no longer reconciles: what it knows of pipelines is the next leader's to say.
    pub fn forget_pipelines(&self) {
        self.pipelines.lock().clear();
        self.orphans(&BTreeMap::new());
    }
}

/// Figures of all pipelines, summed at each scrape so that a sum can never drift from its parts.
#[derive(Debug)]
struct Pipelines {
    by_name: bool,
    figures: Mutex<BTreeMap<(String, String), PipelineFigures>>,
}

impl Pipelines {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), PipelineFigures>> {
        // A panic elsewhere leaves a whole map behind: each change is one insert or remove.
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Pipelines {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let pipelines = self.lock();
        let help = "Pods of all pipelines by verdict; 0 on replicas that do not lead";
        let mut metric = encoder.encode_descriptor("pods", help, None, MetricType::Gauge)?;
        for &verdict in PodVerdict::ALL {
            let sum: i64 = pipelines.values().filter_map(|of| of.pods.get(&verdict)).sum();
            ConstGauge::new(sum).encode(metric.encode_family(&VerdictLabel { verdict })?)?;
        }
        let help = "Pipelines by where their rollout stands; 0 on replicas that do not lead";
        let mut metric = encoder.encode_descriptor("rollouts", help, None, MetricType::Gauge)?;
        for &phase in RolloutPhase::ALL {
            let sum = pipelines.values().filter(|of| of.phase == Some(phase)).count();
            let sum = i64::try_from(sum).unwrap_or(i64::MAX);
            ConstGauge::new(sum).encode(metric.encode_family(&PhaseLabel { phase })?)?;
        }
        if !self.by_name {
            return Ok(());
        }
        let help = "Replicas of each pipeline by state";
        let mut metric = encoder.encode_descriptor("pipeline_replicas", help, None, MetricType::Gauge)?;
        for ((namespace, name), figures) in pipelines.iter() {
            for (&state, &number) in &figures.replicas {
                let labels = PipelineLabels {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    state,
                };
                ConstGauge::new(number).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
