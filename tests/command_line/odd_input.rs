//! What `validate`, `render` and `plan` make of manifests as people write them: numbers, lists, names.

use serde_json::{Value, json};

use crate::{PIPELINE, code, run, stderr, stdout};

const IN_JSON: &str = r#"{"apiVersion":"streams.sentry.io/v1alpha1","kind":"StreamingPipeline","metadata":{"name":"n"},"spec":{
"service_name":"s","pipeline_module":"m","image_name":"i:1","cpu_per_process":1,"memory_per_process":1,"replicas":2.0,
"deployment_template":{},"container_template":{},"pipeline_config":{"env":{"A":1.0},"pipeline":{
"adapter_config":{"arroyo":{"write_healthcheck":true}},"segments":[]}}}}"#;

#[test]
fn numbers_in_json_are_judged_as_the_api_server_stores_them_and_rendered_as_they_stand_there() {
    let output = run(&["validate", "-f", "-"], IN_JSON);
    assert_eq!(
        (code(&output), stdout(&output)),
        (Some(0), "-:1: default/n: valid\n".to_owned())
    );
    // The Python operator tells 2.0 from 2.
    let output = run(&["render", "-f", "-", "-o", "rendered"], IN_JSON);
    let line: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(code(&output), Some(1));
    assert_eq!(
        line["faults"],
        json!([{"field": "spec.replicas", "rule": "field-types", "reason": "FieldValueTypeInvalid",
                "message": "must be an integer, without point or exponent"}])
    );
}

#[test]
fn a_plan_is_of_what_the_cluster_will_hold() {
    let as_stored = IN_JSON.replace("2.0", "2").replace("1.0", "1");
    let planned = |input: &str| stdout(&run(&["plan", "-f", "-"], input));
    assert!(
        planned(IN_JSON).contains("creates ConfigMap s-pipeline-n-0-"),
        "{}",
        planned(IN_JSON)
    );
    assert_eq!(planned(IN_JSON), planned(&as_stored));
}

#[test]
fn faults_of_metadata_stand_at_their_line() {
    let metadata = "metadata:\n  name: Check_Out\n  namespace: in.gest\n  labels:\n    ok: fine\n    bad key: x\n    \
                    number: 5\n  annotations: {UPPER.x/a: any text}";
    let bad = PIPELINE.replace("metadata: {name: checkout, namespace: ingest}", metadata);
    let output = run(&["validate", "-f", "-", "-o", "json"], &bad);
    assert_eq!(code(&output), Some(1));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let faults = report["documents"][0]["faults"].as_array().expect("faults").iter();
    let faults: Vec<_> = faults
        .map(|fault| json!([fault["field"], fault["reason"], fault["line"]]))
        .collect();
    assert_eq!(
        faults,
        [
            json!(["metadata.name", "FieldValueInvalid", 4]),
            json!(["metadata.namespace", "FieldValueInvalid", 5]),
            json!(["metadata.labels[bad key]", "FieldValueInvalid", 8]),
            json!(["metadata.labels.number", "FieldValueTypeInvalid", 9]),
        ]
    );
}

#[test]
fn annotations_of_a_template_may_have_a_prefix_in_capital_letters_and_a_long_one() {
    let prefix = "a".repeat(70);
    let annotations = format!(
        "deployment_template: {{spec: {{template: {{metadata: {{annotations: {{Upper.x/a: v, {prefix}.x/a: v}}}}}}}}}}"
    );
    let output = run(
        &["validate", "-f", "-"],
        &PIPELINE.replace("deployment_template: {}", &annotations),
    );
    assert_eq!(
        (code(&output), stdout(&output)),
        (Some(0), "-:1: ingest/checkout: valid\n".to_owned())
    );
}

#[test]
fn a_list_of_pipelines_gives_its_kind_to_items_that_have_none() {
    let item = PIPELINE
        .split_once("metadata")
        .expect("metadata")
        .1
        .trim_end()
        .replace('\n', "\n  ");
    let list = format!(
        "apiVersion: streams.sentry.io/v1alpha1\nkind: StreamingPipelineList\nitems:\n- metadata{item}\n- metadata{}\n",
        item.replace("checkout", "other")
            .replace("cpu_per_process: 100", "cpu_per_process: 0")
    );
    let output = run(&["validate", "-f", "-"], &list);
    assert_eq!((code(&output), stderr(&output)), (Some(1), String::new()));
    assert_eq!(
        stdout(&output),
        "-:4: ingest/checkout: valid\n-:22: ingest/other: spec.cpu_per_process: is 0, must be at least 1\n"
    );
}

#[test]
fn a_number_that_kubectl_cannot_read_is_said_to_be_none_to_read() {
    let output = run(&["validate", "-f", "-"], &IN_JSON.replace("1.0", "1e400"));
    assert_eq!((code(&output), stdout(&output)), (Some(2), String::new()));
    assert_eq!(
        stderr(&output),
        "-:3: cannot be read: spec.pipeline_config.env.A is 1e+400, which is more than a 64-bit float can hold\n"
    );
}
