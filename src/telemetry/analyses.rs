//! The metrics of analyses. A measurement that comes at its interval and an attempt that follows one without an answer are
//! counted apart. Must never carry an object's name in a label.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::labels::{AnalysisVerdict, AnalysisVerdictLabel, MeasurementLabel, MeasurementOutcome};

/// The metrics of analyses. Clones count into the same figures.
#[derive(Clone, Debug, Default)]
pub struct AnalysisMetrics {
    measurements: Family<MeasurementLabel, Counter>,
    requeues: Counter,
    retries: Counter,
    figures: Arc<Figures>,
}

/// Each analysis as its last pass left it: its verdict, and whether its metrics are unavailable.
#[derive(Debug, Default)]
struct Figures(Mutex<BTreeMap<(String, String), (AnalysisVerdict, bool)>>);

impl AnalysisMetrics {
    pub(super) fn register(&self, ours: &mut Registry) {
        ours.register(
            "analysis_measurements",
            "Measurements of analyses by what came of them",
            self.measurements.clone(),
        );
        ours.register(
            "analysis_requeues",
            "Passes over analyses that asked to be called again later",
            self.requeues.clone(),
        );
        ours.register(
            "analysis_retries",
            "Attempts of measurements that got no answer and were followed by another",
            self.retries.clone(),
        );
        ours.register_collector(Box::new(Arc::clone(&self.figures)));
    }

    /// A measurement has ended.
    pub fn measured(&self, outcome: MeasurementOutcome) {
        self.measurements.get_or_create(&MeasurementLabel { outcome }).inc();
    }

    /// A pass asked to be called again at a time of its own.
    pub fn requeued(&self) {
        self.requeues.inc();
    }

    /// An attempt of a measurement got no answer, and another one follows.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// What the last pass over an analysis left.
    pub fn saw(&self, namespace: &str, name: &str, verdict: AnalysisVerdict, is_unavailable: bool) {
        let key = (namespace.to_owned(), name.to_owned());
        self.figures.lock().insert(key, (verdict, is_unavailable));
    }

    /// An analysis is gone.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.figures.lock().remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// This replica no longer leads: what it knows of analyses is the next leader's to say.
    pub fn forget_all(&self) {
        self.figures.lock().clear();
    }
}

impl Figures {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), (AnalysisVerdict, bool)>> {
        // A panic elsewhere leaves a whole map behind: each change is one insert or remove.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let figures = self.lock();
        let count = |is_one: &dyn Fn(&(AnalysisVerdict, bool)) -> bool| {
            let count = figures.values().filter(|figures| is_one(figures)).count();
            i64::try_from(count).unwrap_or(i64::MAX)
        };
        let help = "Analyses by their verdict; 0 on replicas that do not lead";
        let mut metric = encoder.encode_descriptor("analyses", help, None, MetricType::Gauge)?;
        for &verdict in AnalysisVerdict::ALL {
            let sum = count(&|(of, _)| *of == verdict);
            ConstGauge::new(sum).encode(metric.encode_family(&AnalysisVerdictLabel { verdict })?)?;
        }
        let help = "Analyses whose metrics are unavailable; 0 on replicas that do not lead";
        let metric = encoder.encode_descriptor("analyses_metrics_unavailable", help, None, MetricType::Gauge)?;
        ConstGauge::new(count(&|(_, is_unavailable)| *is_unavailable)).encode(metric)
    }
}
