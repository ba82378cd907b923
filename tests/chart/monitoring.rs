//! Alerts and the dashboard ask for metrics that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use streaming_operator::telemetry::Metrics;
use streaming_operator::telemetry::labels::{
    AdmissionKind, AdmissionOperation, AdmissionOutcome, AdmissionPath, ApiResource, CertificateRole, OrphanFinding,
    PodVerdict, ReconcileResult, ReplicaState, RetryClass, RolloutPhase, Verb,
};

use crate::helm::{chart, named, objects};

/// The names of all series that the operator exposes. One with labels is there once it has counted something.
fn series() -> BTreeSet<String> {
    let metrics = Metrics::new("0.1.0", "abc1234", true);
    metrics.reconciled(ReconcileResult::Success, Duration::from_millis(3));
    metrics.retried(RetryClass::Throttled);
    metrics.api_request(Verb::Create, ApiResource::Pods, 201);
    metrics.admission(
        AdmissionKind::StreamingPipeline,
        AdmissionOperation::Create,
        AdmissionOutcome::Denied,
    );
    metrics.admission_duration(AdmissionPath::Validate, Duration::from_millis(1));
    metrics.orphans(&BTreeMap::new());
    metrics.certificate_expiry(CertificateRole::Leaf, 1_800_000_000);
    let text = metrics.exposition().expect("text");
    let mut names = BTreeSet::new();
    for (name, kind) in text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
    {
        let endings: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            "gauge" => &[""],
            _ => panic!("{name} is a {kind}"),
        };
        names.extend(endings.iter().map(|ending| format!("{name}{ending}")));
    }
    names
}

/// The words of a query that name one of our metrics or one of the process.
fn metrics_in(query: &str) -> BTreeSet<String> {
    query
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("streaming_operator_") || word.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

/// Each `label="value"` and each alternative of `label=~"a|b"`.
fn matchers(query: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in query.split(['{', ',', '}']) {
        let Some((label, value)) = part.trim().split_once('=') else {
            continue;
        };
        let Some(values) = value
            .trim_start_matches('~')
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
        else {
            continue;
        };
        found.extend(values.split('|').map(|value| (label.to_owned(), value.to_owned())));
    }
    found
}

fn values_of(label: &str) -> Option<Vec<&'static str>> {
    Some(match label {
        "phase" => RolloutPhase::ALL.iter().map(|value| value.as_str()).collect(),
        "state" => ReplicaState::ALL.iter().map(|value| value.as_str()).collect(),
        "verdict" => PodVerdict::ALL.iter().map(|value| value.as_str()).collect(),
        "outcome" => AdmissionOutcome::ALL.iter().map(|value| value.as_str()).collect(),
        "result" => ReconcileResult::ALL.iter().map(|value| value.as_str()).collect(),
        "class" => RetryClass::ALL.iter().map(|value| value.as_str()).collect(),
        "finding" => OrphanFinding::ALL.iter().map(|value| value.as_str()).collect(),
        "role" => CertificateRole::ALL.iter().map(|value| value.as_str()).collect(),
        _ => return None,
    })
}

fn assert_asks_for_what_there_is(query: &str) {
    let (asked, series) = (metrics_in(query), series());
    assert!(!asked.is_empty(), "{query}");
    for metric in asked {
        assert!(series.contains(&metric), "{metric} of {query} is not among {series:?}");
    }
    for (label, value) in matchers(query) {
        match values_of(&label) {
            Some(values) => assert!(values.contains(&&*value), "{label} is never {value}: {query}"),
            None => assert!(["namespace", "pod"].contains(&&*label), "{label}: {query}"),
        }
    }
}

#[test]
fn the_alerts_ask_for_metrics_and_labels_that_there_are() {
    let rendered = objects(&[
        "--set",
        "prometheusRule.enabled=true,prometheusRule.alertLabels.team=streams",
    ]);
    let rules = &named(&rendered, "PrometheusRule", "streaming-operator")["spec"]["groups"][0]["rules"];
    let mut alerts = Vec::new();
    for rule in rules.as_array().expect("rules") {
        assert_asks_for_what_there_is(rule["expr"].as_str().expect("a query"));
        assert_eq!(rule["labels"]["team"], "streams");
        assert!(["critical", "warning"].contains(&rule["labels"]["severity"].as_str().expect("a severity")));
        assert!(rule["annotations"]["description"].as_str().expect("text").len() > 20);
        alerts.push(rule["alert"].as_str().expect("a name"));
    }
    assert_eq!(
        alerts,
        [
            "StreamingPipelineDown",
            "StreamingPipelineStalled",
            "StreamingPipelinePausedTooLong",
            "StreamingPipelineAwaitingAnalysis",
            "RolloutAnalysisMetricsUnavailable",
            "StreamingOperatorMetricsUnavailable",
            "StreamingOperatorNoLeader",
            "StreamingOperatorCertificateExpires",
            "StreamingOperatorAdmissionErrors",
            "StreamingOperatorRefused",
        ]
    );
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_there_are() {
    let text = std::fs::read_to_string(chart().join("files/dashboard.json")).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() > 10);
    let mut asked = BTreeSet::new();
    for panel in panels {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query");
            // A variable of the dashboard is no value of a label.
            assert_asks_for_what_there_is(query);
            asked.extend(metrics_in(query));
        }
    }
    // What is exposed is also shown, but for the counts of requeues, which say little by themselves.
    let shown: BTreeSet<_> = asked.iter().map(|name| family(name)).collect();
    let exposed: BTreeSet<_> = series().iter().map(|name| family(name)).collect();
    let missing: Vec<_> = exposed.difference(&shown).collect();
    assert_eq!(
        missing,
        ["streaming_operator_analysis_requeues", "streaming_operator_requeues"]
    );
}

fn family(series: &str) -> String {
    let endings = ["_total", "_bucket", "_sum", "_count", "_info"];
    let family = endings.iter().find_map(|ending| series.strip_suffix(ending));
    family.unwrap_or(series).to_owned()
}

#[test]
fn the_dashboard_reaches_its_config_map_unchanged() {
    let rendered = objects(&["--set", "dashboard.enabled=true"]);
    let map = named(&rendered, "ConfigMap", "streaming-operator-dashboard");
    assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
    let file = std::fs::read_to_string(chart().join("files/dashboard.json")).expect("the dashboard");
    assert_eq!(map["data"]["streaming-operator.json"], file.trim_end());
}
