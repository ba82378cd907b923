//! The metrics sources: Prometheus servers, or what answers as they do, that analyses ask by name.
//!
//! They are the operator's configuration, so whoever writes an analysis chooses among them and can make the operator call
//! nothing else: no redirect is followed and no proxy of the environment is used. Must never take a failed exchange for a
//! value, hold a secret longer than a request, or show one.

mod exchange;
pub mod file;
mod secrets;
pub mod settings;
mod trust;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::core::analysis::answer::{self, Answer, QueryError, Series};
use crate::telemetry::Metrics;
use crate::telemetry::labels::SourceOutcome;
use exchange::Exchanged;
pub use settings::SourceSettings;
use trust::Trust;

/// The longest wait for an answer; a measurement has less time than this.
const LONGEST_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// All configured sources. Cheap to clone; clones share their limits.
#[derive(Clone, Debug)]
pub struct Sources {
    by_name: Arc<BTreeMap<String, Source>>,
    metrics: Metrics,
}

/// One source.
#[derive(Debug)]
struct Source {
    settings: SourceSettings,
    trust: Trust,
    /// One permit a request.
    free: Semaphore,
}

/// Why a request has no answer: for metrics, and in words that go on after the name of the source.
#[derive(Debug)]
struct Failure {
    outcome: SourceOutcome,
    words: String,
}

impl Failure {
    fn new(outcome: SourceOutcome, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { outcome, words }
    }
}

impl Sources {
    /// The sources of these settings, whose names differ; requests are counted in `metrics`.
    ///
    /// Fails with a line for each source that cannot be used: its secrets cannot be read, or it is asked over TLS and
    /// there is no certificate authority to trust.
    pub fn new(settings: Vec<SourceSettings>, metrics: Metrics) -> Result<Self, Vec<String>> {
        let (mut by_name, mut faults) = (BTreeMap::new(), Vec::new());
        for settings in settings {
            let name = settings.name.clone();
            match Source::new(settings) {
                Ok(source) => drop(by_name.insert(name, source)),
                Err(words) => faults.push(format!("metrics source {name}: {words}")),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let by_name = Arc::new(by_name);
        Ok(Self { by_name, metrics })
    }

    /// Whether there is a source of that name.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Names of all sources, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Asks the source of that name once for an instant query, as of now. Takes at most `deadline`, the wait for one of
    /// the source's free requests included; the source's own time-out may be shorter. Dropping the future ends the
    /// request.
    ///
    /// Gives no series when nothing matches. Fails with the name of the source, one line for people, without an address
    /// and without a secret.
    pub async fn query(&self, source: &str, query: &str, deadline: Duration) -> Result<Vec<Series>, QueryError> {
        let Some((name, source)) = self.by_name.get_key_value(source) else {
            let known: Vec<_> = self.names().collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let message = format!("the operator has no metrics source {source:?}; configured: {known}");
            return Err(QueryError::UnknownSource(message));
        };
        let begun = Instant::now();
        let (outcome, answer) = source.ask(query, deadline).await;
        self.metrics.source_request(name, outcome, begun.elapsed());
        let named = |words: String| format!("metrics source {name} {words}");
        match answer {
            Ok(Answer { series, warnings }) => {
                for warning in warnings {
                    tracing::warn!(source = %name, %warning, query, "a metrics source warns of its answer");
                }
                Ok(series)
            }
            Err(QueryError::Rejected(words)) => Err(QueryError::Rejected(named(words))),
            Err(QueryError::Unavailable(words)) => Err(QueryError::Unavailable(named(words))),
            Err(QueryError::UnknownSource(words)) => Err(QueryError::UnknownSource(words)),
        }
    }
}

impl Source {
    fn new(settings: SourceSettings) -> Result<Self, String> {
        let trust = Trust::new(settings.ca_file.as_deref(), settings.is_tls(), settings.max_concurrent)?;
        secrets::read_now(&settings.credentials)?;
        Ok(Self {
            free: Semaphore::new(settings.max_concurrent),
            settings,
            trust,
        })
    }

    async fn ask(&self, query: &str, deadline: Duration) -> (SourceOutcome, Result<Answer, QueryError>) {
        match self.exchange(query, deadline).await {
            Ok(Exchanged { status, body }) => {
                let answer = answer::read(status, &body);
                let outcome = match (&answer, status) {
                    (Ok(_), _) => SourceOutcome::Answered,
                    (Err(QueryError::Rejected(_)), _) => SourceOutcome::Rejected,
                    (Err(_), 401 | 403) => SourceOutcome::Unauthorized,
                    (Err(_), 429) => SourceOutcome::Throttled,
                    (Err(_), 500..) => SourceOutcome::Server,
                    (Err(_), _) => SourceOutcome::Malformed,
                };
                (outcome, answer)
            }
            Err(Failure { outcome, words }) => (outcome, Err(QueryError::Unavailable(words))),
        }
    }

    async fn exchange(&self, query: &str, deadline: Duration) -> Result<Exchanged, Failure> {
        // An instant cannot hold every duration.
        let until = Instant::now() + deadline.min(LONGEST_DEADLINE);
        let Ok(Ok(_permit)) = timeout_at(until, self.free.acquire()).await else {
            let limit = self.settings.max_concurrent;
            let words = format!(
                "is busy: its {limit} requests at once were taken for {:?}",
                rounded(deadline)
            );
            return Err(Failure::new(SourceOutcome::Busy, words));
        };
        let left = until.saturating_duration_since(Instant::now());
        let limit = left.min(self.settings.timeout);
        let exchange = exchange::exchange(&self.settings, &self.trust, query, limit);
        let exchanged = tokio::time::timeout(limit, exchange).await;
        exchanged.unwrap_or_else(|_| {
            let words = format!("did not answer within {:?}", rounded(limit));
            Err(Failure::new(SourceOutcome::TimedOut, words))
        })
    }
}

/// A duration for people, to the tenth of a second where it has one: two attempts that differ by a millisecond are told in
/// the same words, so that a status that holds them is not written again.
fn rounded(duration: Duration) -> Duration {
    let tenths = duration.as_millis().div_ceil(100).saturating_mul(100);
    Duration::from_millis(u64::try_from(tenths).unwrap_or(u64::MAX))
}
