//! Analyses among the files of `validate`, `render` and `plan`.

use serde_json::{Value, json};

use super::{PIPELINE, code, run, stderr, stdout};

const ANALYSIS: &str = "\
apiVersion: streams.sentry.io/v1alpha1
kind: RolloutAnalysis
metadata: {name: checkout, namespace: ingest}
spec:
  target: {kind: StreamingPipeline, name: checkout}
  interval: 30s
  metrics:
  - name: errors
    query: sum(rate(errors[5m]))
    maxValue: 1
";

#[test]
fn analyses_are_judged_beside_pipelines_in_the_order_of_the_files() {
    let files = [
        ANALYSIS,
        PIPELINE,
        &ANALYSIS.replace("name: checkout, n", "name: second, n"),
    ]
    .join("---\n");
    let output = run(&["validate", "-f", "-"], &files);
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
    assert_eq!(
        stdout(&output),
        "-:1: ingest/checkout: valid\n-:12: ingest/checkout: valid\n-:28: ingest/second: valid\n"
    );
}

#[test]
fn the_faults_of_an_analysis_are_told_with_their_lines_in_each_form() {
    let bad = ANALYSIS
        .replace("interval: 30s", "interval: 1s")
        .replace("sum(rate(errors[5m]))", "errors[5m]")
        .replace("    maxValue: 1\n", "    maxValu: 1\n");
    let output = run(&["validate", "-f", "-"], &bad);
    assert_eq!(code(&output), Some(1));
    assert_eq!(
        stdout(&output),
        "-:6: ingest/checkout: spec.interval: must be from 5s to 24h\n\
         -:8: ingest/checkout: spec.metrics[0]: has no limit: set maxValue, minValue or both\n\
         -:9: ingest/checkout: spec.metrics[0].query: results in a range vector, must be an instant vector or a scalar\n\
         -:10: ingest/checkout: warning: spec.metrics[0].maxValu: is an unknown field: kubectl refuses it, other clients drop it\n"
    );
    let output = run(&["validate", "-f", "-", "-o", "json"], &bad);
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        report["documents"][0]["faults"][0],
        json!({"field": "spec.interval", "rule": "measurement-times", "reason": "FieldValueInvalid",
               "message": "must be from 5s to 24h", "line": 6})
    );
    let output = run(&["validate", "-f", "-", "-o", "github"], &bad);
    let first = stdout(&output).lines().next().map(str::to_owned);
    assert_eq!(
        first.as_deref(),
        Some("::error file=-,line=6::spec.interval: must be from 5s to 24h")
    );
}

#[test]
fn the_same_analysis_twice_is_a_fault_and_beside_a_pipeline_of_its_name_none() {
    let output = run(&["validate", "-f", "-"], &[ANALYSIS, PIPELINE, ANALYSIS].join("---\n"));
    assert_eq!(code(&output), Some(1));
    assert_eq!(
        stdout(&output),
        "-:1: ingest/checkout: valid\n-:12: ingest/checkout: valid\n-:30: ingest/checkout: metadata.name: the same analysis \
         stands at -:1 already; kubectl would apply both, and the last one would stay\n"
    );
}

#[test]
fn render_and_plan_skip_analyses_with_a_word() {
    for command in ["render", "plan"] {
        let output = run(&[command, "-f", "-"], &[PIPELINE, ANALYSIS].join("---\n"));
        let told = stderr(&output);
        assert!(
            told.contains(": skipped: streams.sentry.io/v1alpha1 RolloutAnalysis is no StreamingPipeline of"),
            "{told}"
        );
    }
}
