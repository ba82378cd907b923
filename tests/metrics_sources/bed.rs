//! One Prometheus for all tests, a proxy before it for each.

use std::time::Duration;

use streaming_operator::core::analysis::answer::{QueryError, Series};
use streaming_operator::core::analysis::judge::number;
use streaming_operator::metrics_sources::{SourceSettings, Sources};
use streaming_operator::telemetry::Metrics;
use testkit::metrics_proxy::MetricsProxy;
use testkit::prometheus::Prometheus;
use tokio::sync::OnceCell;

/// More time than any answer takes.
pub(crate) const ENOUGH: Duration = Duration::from_secs(60);

static PROMETHEUS: OnceCell<Prometheus> = OnceCell::const_new();

/// A source that is asked through a proxy.
pub(crate) struct Bed {
    pub(crate) proxy: MetricsProxy,
    pub(crate) sources: Sources,
    pub(crate) metrics: Metrics,
}

async fn proxy() -> MetricsProxy {
    let prometheus = PROMETHEUS
        .get_or_init(async || Prometheus::start(&[]).await.unwrap())
        .await;
    MetricsProxy::start(prometheus.url()).unwrap()
}

impl Bed {
    /// A source `default` with the default settings.
    pub(crate) async fn start() -> Self {
        Self::with(|_, _| {}).await
    }

    /// A source `default` whose settings are changed, with the proxy at hand.
    pub(crate) async fn with(change: impl FnOnce(&MetricsProxy, &mut SourceSettings)) -> Self {
        let proxy = proxy().await;
        let mut settings = SourceSettings::at("default", &proxy.url()).unwrap();
        change(&proxy, &mut settings);
        Self::of(proxy, settings)
    }

    /// As [`Bed::with`], over TLS; `change` gets the certificate of the proxy as PEM.
    pub(crate) async fn with_tls(change: impl FnOnce(&str, &mut SourceSettings)) -> Self {
        let proxy = proxy().await;
        let certificate = proxy.renew_certificate().unwrap();
        let mut settings = SourceSettings::at("default", &proxy.url()).unwrap();
        change(&certificate, &mut settings);
        Self::of(proxy, settings)
    }

    fn of(proxy: MetricsProxy, settings: SourceSettings) -> Self {
        let metrics = Metrics::new("0.1.0", "abc1234", false);
        let sources = Sources::new(vec![settings], metrics.clone()).expect("a source");
        Self {
            proxy,
            sources,
            metrics,
        }
    }

    pub(crate) async fn ask(&self, query: &str) -> Result<Vec<Series>, QueryError> {
        self.sources.query("default", query, ENOUGH).await
    }

    /// The value of a query that has exactly one series, as Prometheus writes numbers.
    pub(crate) async fn value(&self, query: &str) -> String {
        let series = self.ask(query).await.expect("an answer");
        assert_eq!(series.len(), 1, "{series:?}");
        number(series[0].value)
    }

    /// Why there is no answer: an outage, in these words.
    pub(crate) async fn outage(&self) -> String {
        match self.ask("vector(1)").await {
            Err(QueryError::Unavailable(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    /// How many requests ended so.
    pub(crate) fn counted(&self, outcome: &str) -> Option<String> {
        let text = self.metrics.exposition().unwrap();
        let name =
            format!(r#"streaming_operator_metrics_source_requests_total{{source="default",outcome="{outcome}"}} "#);
        text.lines()
            .find_map(|line| line.strip_prefix(&name))
            .map(str::to_owned)
    }
}
