//! The metrics as a real Prometheus sees them: it scrapes both replicas, and knows every metric by name, type and labels.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::prometheus::{self, Prometheus};
use testkit::wait::{self, Seen};

use super::release::{Release, SOON, pipeline};

/// Every series that people build on: its name, its type as Prometheus has it under the name of the family, its labels.
const SERIES: [(&str, &str, &str, &[&str]); 20] = [
    (
        "streaming_operator_reconcile_total",
        "streaming_operator_reconcile",
        "counter",
        &["result"],
    ),
    (
        "streaming_operator_reconcile_duration_seconds_bucket",
        "streaming_operator_reconcile_duration_seconds",
        "histogram",
        &["le"],
    ),
    (
        "streaming_operator_reconcile_duration_seconds_count",
        "streaming_operator_reconcile_duration_seconds",
        "histogram",
        &[],
    ),
    (
        "streaming_operator_reconcile_duration_seconds_sum",
        "streaming_operator_reconcile_duration_seconds",
        "histogram",
        &[],
    ),
    (
        "streaming_operator_queue_depth",
        "streaming_operator_queue_depth",
        "gauge",
        &[],
    ),
    (
        "streaming_operator_requeues_total",
        "streaming_operator_requeues",
        "counter",
        &[],
    ),
    (
        "streaming_operator_retries_total",
        "streaming_operator_retries",
        "counter",
        &["class"],
    ),
    (
        "streaming_operator_api_requests_total",
        "streaming_operator_api_requests",
        "counter",
        &["code", "resource", "verb"],
    ),
    (
        "streaming_operator_admission_requests_total",
        "streaming_operator_admission_requests",
        "counter",
        &["kind", "operation", "outcome"],
    ),
    (
        "streaming_operator_admission_duration_seconds_bucket",
        "streaming_operator_admission_duration_seconds",
        "histogram",
        &["le", "path"],
    ),
    (
        "streaming_operator_admission_duration_seconds_count",
        "streaming_operator_admission_duration_seconds",
        "histogram",
        &["path"],
    ),
    (
        "streaming_operator_pods",
        "streaming_operator_pods",
        "gauge",
        &["verdict"],
    ),
    (
        "streaming_operator_rollouts",
        "streaming_operator_rollouts",
        "gauge",
        &["phase"],
    ),
    ("streaming_operator_leader", "streaming_operator_leader", "gauge", &[]),
    (
        "streaming_operator_certificate_expiry_timestamp_seconds",
        "streaming_operator_certificate_expiry_timestamp_seconds",
        "gauge",
        &["role"],
    ),
    (
        "streaming_operator_build_info",
        "streaming_operator_build",
        "info",
        &["commit", "version"],
    ),
    // The one with names of objects; --pipeline-metrics=false switches it off.
    (
        "streaming_operator_pipeline_replicas",
        "streaming_operator_pipeline_replicas",
        "gauge",
        &["name", "namespace", "state"],
    ),
    ("process_cpu_seconds_total", "process_cpu_seconds", "counter", &[]),
    (
        "process_resident_memory_bytes",
        "process_resident_memory_bytes",
        "gauge",
        &[],
    ),
    ("up", "", "", &[]),
];

/// The labels of all series of a name, without those that the scrape adds.
async fn labels(prometheus: &Prometheus, name: &str) -> anyhow::Result<Option<BTreeSet<String>>> {
    let series = prometheus.query(name).await?;
    let keys = series.iter().flat_map(|(labels, _)| {
        let keys = labels.as_object().into_iter().flat_map(|labels| labels.keys().cloned());
        keys.collect::<Vec<_>>()
    });
    let added = ["__name__", "instance", "job"];
    let own = keys.filter(|key| !added.contains(&key.as_str())).collect();
    Ok((!series.is_empty()).then_some(own))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_prometheus_scrapes_every_metric_under_its_name_type_and_labels() {
    let release = Release::get().await;
    let namespace = release.cluster.namespace("metrics").await.unwrap();
    // The API server refuses its Pods, so that something is tried again.
    let label = [
        "label",
        "namespace",
        &namespace,
        "pod-security.kubernetes.io/enforce=restricted",
    ];
    release.cluster.kubectl(&label).await.unwrap();
    release.cluster.apply(&[pipeline(&namespace, "p", 2)]).await.unwrap();
    let targets: Vec<(&str, String)> = ["a", "b"]
        .into_iter()
        .zip(&release.replicas)
        .map(|(name, replica)| (name, format!("127.0.0.1:{}", replica.http_port())))
        .collect();
    let prometheus = Prometheus::start(&targets).await.unwrap();
    prometheus.until("sum(up)", 2.0, SOON).await.unwrap();
    prometheus
        .until("sum(streaming_operator_leader)", 1.0, SOON)
        .await
        .unwrap();
    let ready = format!("streaming_operator_pipeline_replicas{{namespace=\"{namespace}\",state=\"desired\"}}");
    prometheus.until(&ready, 2.0, SOON).await.unwrap();

    for (name, family, type_, wanted) in SERIES {
        let wanted: BTreeSet<String> = wanted.iter().map(|label| (*label).to_owned()).collect();
        let look = async || {
            let found = labels(&prometheus, name).await?;
            Ok(Seen::when(found, |found| found.as_ref() == Some(&wanted)))
        };
        wait::until(&format!("{name} with the labels {wanted:?}"), SOON, look)
            .await
            .unwrap();
        if family.is_empty() {
            continue;
        }
        let metadata = prometheus
            .ask(&format!("/api/v1/targets/metadata?metric={family}"))
            .await
            .unwrap();
        let metadata = metadata.as_array().cloned().unwrap();
        assert!(!metadata.is_empty(), "{family} has no metadata");
        for of_target in metadata {
            assert_eq!(of_target["type"], type_, "{family}");
            assert_ne!(of_target["help"], Value::from(""), "{family}");
        }
    }
    let targets = prometheus.ask("/api/v1/targets").await.unwrap();
    for target in targets["activeTargets"].as_array().unwrap() {
        assert_eq!(target["lastError"], Value::from(""), "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_has_nothing_to_say_of_the_metrics() {
    let release = Release::get().await;
    let text = release.replicas[0].metrics().await.unwrap();
    assert!(text.ends_with("# EOF\n"), "OpenMetrics ends so");
    assert_eq!(prometheus::lint(&text).await.unwrap(), "");
}
