//! Many analyses that measure side by side: each at its interval, and what that costs.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::prometheus::Prometheus;
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, pipeline};

/// How many analyses; `STREAMS_TEST_ANALYSES=500` is the long form.
const ANALYSES: usize = 20;
/// The analyses of one target.
const OF_A_TARGET: usize = 5;
/// How many intervals are looked at.
const INTERVALS: usize = 4;

fn number(variable: &str, default: usize) -> usize {
    let number = std::env::var(variable).ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// A Deployment of one Pod.
fn deployment(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "app", "image": "registry.example/app:1"}]}}}})
}

fn analysis(namespace: &str, name: &str, kind: &str, target: &str, interval: usize) -> Value {
    let query = r#"label_replace(vector(0.1), "pod", "p", "", "") or up{pod=~"$(canaryPods)"}"#;
    json!({"apiVersion": "streams.sentry.io/v1alpha1", "kind": "RolloutAnalysis",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"target": {"kind": kind, "name": target}, "interval": format!("{interval}s"), "requiredPasses": 1,
            "metrics": [{"name": "latency", "query": query, "maxValue": 0.25}]}})
}

/// The sum of all series of a metric, among them those with these labels alone.
fn sum(exposition: &str, metric: &str, labels: &str) -> f64 {
    let lines = exposition.lines().filter(|line| !line.starts_with('#'));
    let of = lines.filter(|line| line.starts_with(metric) && line.contains(labels));
    of.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_analyses_measure_at_their_intervals_and_write_almost_nothing() {
    let (count, interval) = (
        number("STREAMS_TEST_ANALYSES", ANALYSES),
        number("STREAMS_TEST_ANALYSIS_INTERVAL", 5),
    );
    let prometheus = Prometheus::start(&[]).await.unwrap();
    let source = testkit::workdir::workdir("source").unwrap().join("source.yaml");
    std::fs::write(&source, format!("url: {}\n", prometheus.url())).unwrap();
    let bed = Bed::start("analyses", &[&format!("--metrics-source=default={}", source.display())]).await;
    let targets = count.div_ceil(OF_A_TARGET);
    let of_targets = (0..targets).map(|target| match target % 2 {
        0 => pipeline(&bed.namespace, &format!("t{target}"), 1),
        _ => deployment(&bed.namespace, &format!("t{target}")),
    });
    bed.apply(&of_targets.collect::<Vec<_>>()).await;
    let analyses = (0..count).map(|number| {
        let target = number / OF_A_TARGET;
        let kind = ["StreamingPipeline", "Deployment"][target % 2];
        let (name, target) = (format!("a{number}"), format!("t{target}"));
        analysis(&bed.namespace, &name, kind, &target, interval)
    });
    bed.apply(&analyses.collect::<Vec<_>>()).await;
    let passed = async || {
        let analyses = bed.list("ra").await;
        let passed = analyses
            .iter()
            .filter(|one| one["status"]["verdict"] == "Passed")
            .count();
        Ok(Seen::when(passed, |passed| *passed == count))
    };
    wait::until("all analyses to pass", SOON, passed).await.unwrap();

    let mark = bed.mark().await;
    let before = bed.operator().metrics().await.unwrap();
    let began = std::time::Instant::now();
    let answered = |text: &str| sum(text, "streaming_operator_metrics_source_requests_total", "answered");
    #[allow(clippy::cast_precision_loss, reason = "some thousands at the most")]
    let wanted = answered(&before) + (count * INTERVALS) as f64;
    let measured = async || {
        let text = bed.operator().metrics().await?;
        Ok(Seen::when(text, |text| answered(text) >= wanted))
    };
    let deadline = SOON + Duration::from_secs(u64::try_from(INTERVALS * interval).unwrap() * 2);
    let after = wait::until("the analyses to measure", deadline, measured)
        .await
        .unwrap();
    let took = began.elapsed();

    let writes = bed.writes_since(mark).await;
    let of_analyses = writes
        .iter()
        .filter(|write| write.resource.starts_with("rolloutanalyses"))
        .count();
    let since = |metric: &str, labels: &str| sum(&after, metric, labels) - sum(&before, metric, labels);
    let a_minute = 60.0 / took.as_secs_f64();
    println!(
        "{count} analyses at {interval} s over {:.0} s: {:.1} % of a CPU, {:.1} MiB, {:.0} queries a minute, \
         {:.1} requests and {:.1} writes to the API server a minute",
        took.as_secs_f64(),
        100.0 * since("process_cpu_seconds_total", "") / took.as_secs_f64(),
        sum(&after, "process_resident_memory_bytes", "") / 1024.0 / 1024.0,
        since("streaming_operator_metrics_source_requests_total", "") * a_minute,
        since("streaming_operator_api_requests_total", "") * a_minute,
        f64::from(u32::try_from(of_analyses).unwrap()) * a_minute,
    );
    // Nothing changes but the last values: each may be written once in five minutes.
    let most = count * (1 + usize::try_from(took.as_secs() / 300).unwrap());
    assert!(of_analyses <= most, "{of_analyses} writes of {count} analyses");
    let unanswered =
        since("streaming_operator_metrics_source_requests_total", "") - answered(&after) + answered(&before);
    assert!(unanswered.abs() < 0.5, "{unanswered} queries without an answer");
}
