//! What the exposition holds: names are an API, label sets are closed, no object is named.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::labels::{AnalysisVerdict, MeasurementOutcome};
use super::*;

/// Metrics in which everything has been counted once.
fn used(pipeline_metrics: bool) -> String {
    let metrics = Metrics::new("0.1.0", "abc1234", pipeline_metrics);
    metrics.reconciled(ReconcileResult::Success, Duration::from_millis(3));
    metrics.queue_depth(2);
    metrics.requeued();
    metrics.retried(RetryClass::Throttled);
    metrics.api_request(Verb::Create, ApiResource::Pods, 201);
    metrics.api_request(Verb::Get, ApiResource::Leases, 0);
    metrics.admission(
        AdmissionKind::StreamingPipeline,
        AdmissionOperation::Create,
        AdmissionOutcome::Denied,
    );
    metrics.admission_duration(AdmissionPath::Validate, Duration::from_micros(60));
    metrics.leader(true);
    metrics.orphans(&BTreeMap::from([(OrphanFinding::Unnamed, 2)]));
    metrics.orphan_removed();
    metrics.certificate_expiry(CertificateRole::Leaf, 1_800_000_000);
    metrics.source_request("default", SourceOutcome::Answered, Duration::from_millis(20));
    metrics.analyses.measured(MeasurementOutcome::Fail);
    metrics.analyses.requeued();
    metrics.analyses.retried();
    metrics
        .analyses
        .saw("ingest", "checkout", AnalysisVerdict::Failed, false);
    metrics
        .analyses
        .saw("ingest", "billing", AnalysisVerdict::Unavailable, true);
    metrics.pipeline("ingest", "checkout", figures(3));
    metrics.pipeline("ingest", "billing", figures(1));
    metrics.exposition().expect("text")
}

fn figures(ready: i64) -> PipelineFigures {
    PipelineFigures {
        pods: BTreeMap::from([(PodVerdict::Ready, ready)]),
        phase: Some(RolloutPhase::Complete),
        replicas: BTreeMap::from([(ReplicaState::Desired, ready)]),
    }
}

#[test]
fn every_metric_has_its_name_and_a_help_text() {
    let text = used(true);
    let helped: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# HELP "))
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, help)| !help.trim().is_empty())
        .map(|(name, _)| name)
        .collect();
    let expected = BTreeSet::from([
        "process_cpu_seconds",
        "process_resident_memory_bytes",
        "streaming_operator_admission_duration_seconds",
        "streaming_operator_admission_requests",
        "streaming_operator_analyses",
        "streaming_operator_analyses_metrics_unavailable",
        "streaming_operator_analysis_measurements",
        "streaming_operator_analysis_requeues",
        "streaming_operator_analysis_retries",
        "streaming_operator_api_requests",
        "streaming_operator_build",
        "streaming_operator_certificate_expiry_timestamp_seconds",
        "streaming_operator_leader",
        "streaming_operator_metrics_source_request_duration_seconds",
        "streaming_operator_metrics_source_requests",
        "streaming_operator_orphans",
        "streaming_operator_orphans_removed",
        "streaming_operator_pipeline_replicas",
        "streaming_operator_pods",
        "streaming_operator_queue_depth",
        "streaming_operator_reconcile",
        "streaming_operator_reconcile_duration_seconds",
        "streaming_operator_requeues",
        "streaming_operator_retries",
        "streaming_operator_rollouts",
    ]);
    assert_eq!(helped, expected);
}

#[test]
fn each_sample_stands_under_the_name_people_alert_on() {
    let text = used(true);
    for line in [
        r#"streaming_operator_reconcile_total{result="success"} 1"#,
        "streaming_operator_reconcile_duration_seconds_count 1",
        "streaming_operator_queue_depth 2",
        "streaming_operator_requeues_total 1",
        r#"streaming_operator_retries_total{class="throttled"} 1"#,
        r#"streaming_operator_api_requests_total{verb="create",resource="pods",code="201"} 1"#,
        r#"streaming_operator_api_requests_total{verb="get",resource="leases",code="none"} 1"#,
        r#"streaming_operator_admission_requests_total{kind="StreamingPipeline",operation="create",outcome="denied"} 1"#,
        r#"streaming_operator_admission_duration_seconds_count{path="/validate"} 1"#,
        r#"streaming_operator_pods{verdict="ready"} 4"#,
        r#"streaming_operator_pods{verdict="failed"} 0"#,
        r#"streaming_operator_rollouts{phase="Complete"} 2"#,
        "streaming_operator_leader 1",
        r#"streaming_operator_orphans{finding="unnamed"} 2"#,
        r#"streaming_operator_orphans{finding="orphan"} 0"#,
        "streaming_operator_orphans_removed_total 1",
        r#"streaming_operator_certificate_expiry_timestamp_seconds{role="leaf"} 1800000000"#,
        r#"streaming_operator_metrics_source_requests_total{source="default",outcome="answered"} 1"#,
        r#"streaming_operator_metrics_source_request_duration_seconds_count{source="default"} 1"#,
        r#"streaming_operator_analysis_measurements_total{outcome="fail"} 1"#,
        "streaming_operator_analysis_requeues_total 1",
        "streaming_operator_analysis_retries_total 1",
        r#"streaming_operator_analyses{verdict="Failed"} 1"#,
        r#"streaming_operator_analyses{verdict="Passed"} 0"#,
        "streaming_operator_analyses_metrics_unavailable 1",
        r#"streaming_operator_build_info{version="0.1.0",commit="abc1234"} 1"#,
        r#"streaming_operator_pipeline_replicas{namespace="ingest",name="checkout",state="desired"} 3"#,
    ] {
        assert!(text.lines().any(|have| have == line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn no_label_names_an_object_once_the_gauges_of_pipelines_are_off() {
    let text = used(false);
    assert!(!text.contains("checkout") && !text.contains("ingest"), "{text}");
    let labels: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('{')?.1.rsplit_once('}')?.0))
        .flat_map(|labels| labels.split(','))
        .filter_map(|label| Some(label.split_once('=')?.0))
        .collect();
    let closed = BTreeSet::from([
        "class",
        "code",
        "commit",
        "finding",
        "kind",
        "le",
        "operation",
        "outcome",
        "path",
        "phase",
        "resource",
        "result",
        "role",
        "source",
        "verb",
        "verdict",
        "version",
    ]);
    assert_eq!(labels, closed);
}

#[test]
fn a_pipeline_that_is_gone_is_no_longer_counted() {
    let metrics = Metrics::new("0.1.0", "abc1234", true);
    metrics.pipeline("ingest", "checkout", figures(3));
    metrics.forget_pipeline("ingest", "checkout");
    let text = metrics.exposition().expect("text");
    assert!(
        text.contains("streaming_operator_pods{verdict=\"ready\"} 0\n"),
        "{text}"
    );
    assert!(!text.contains("checkout"), "{text}");
}
