//! `validate` and `render` as people and pipelines call them: what they print, and their exit codes.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on ends in a panic"
)]

mod analyses;
mod input;
mod odd_input;
mod orphans;
mod plan;
mod server;

use std::fs::File;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const PIPELINE: &str = "\
apiVersion: streams.sentry.io/v1alpha1
kind: StreamingPipeline
metadata: {name: checkout, namespace: ingest}
spec:
  service_name: svc
  pipeline_module: pkg.mod
  image_name: registry.example/app:1
  cpu_per_process: 100
  memory_per_process: 256
  deployment_template: {}
  container_template: {}
  pipeline_config:
    pipeline:
      adapter_config: {arroyo: {write_healthcheck: true}}
      segments: []
";

/// Runs the program in the root of the repository.
fn run(arguments: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut input = child.stdin.take().expect("its stdin");
    input.write_all(stdin.as_bytes()).expect("it reads");
    drop(input);
    child.wait_with_output().expect("its output")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn every_example_is_valid() {
    let output = run(&["validate", "-f", "examples"], "");
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
    let lines = stdout(&output);
    assert!(
        lines.lines().count() >= 4 && lines.lines().all(|line| line.ends_with(": valid")),
        "{lines}"
    );
}

#[test]
fn a_folder_of_bad_manifests_is_told_fault_by_fault_with_file_and_line() {
    let output = run(&["validate", "-f", "tests/manifests/bad"], "");
    assert_eq!(code(&output), Some(1));
    assert_eq!(stdout(&output), include_str!("../manifests/bad.txt"));
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manifests/bad")).expect("the folder");
    assert_eq!(files.count(), 32);
}

#[test]
fn the_answer_for_programs_names_file_document_and_line() {
    let bad = PIPELINE
        .replace("checkout", "other")
        .replace("cpu_per_process: 100", "cpu_per_process: 0");
    let output = run(&["validate", "-f", "-", "-o", "json"], &format!("{PIPELINE}---\n{bad}"));
    assert_eq!(code(&output), Some(1));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        report,
        json!({"valid": false, "documents": [
            {"file": "-", "document": 1, "line": 1, "name": "checkout", "namespace": "ingest",
             "faults": [], "warnings": []},
            {"file": "-", "document": 2, "line": 17, "name": "other", "namespace": "ingest",
             "faults": [{"field": "spec.cpu_per_process", "rule": "field-ranges", "reason": "FieldValueInvalid",
                         "message": "is 0, must be at least 1", "line": 24}],
             "warnings": []},
        ]})
    );
}

#[test]
fn annotations_of_github_stand_at_the_line_of_the_fault() {
    let bad = PIPELINE
        .replace("registry.example/app:1", "registry.example/app")
        .replace("cpu_per_process: 100", "cpu_per_process: 0");
    let output = run(&["validate", "-f", "-", "-o", "github"], &bad);
    assert_eq!(code(&output), Some(1));
    assert_eq!(
        stdout(&output),
        "::error file=-,line=8::spec.cpu_per_process: is 0, must be at least 1\n\
         ::warning file=-,line=7::spec.image_name: has no tag, or latest: which version runs depends on when a node \
         pulled it\n"
    );
}

#[test]
fn pipelines_that_would_take_each_others_names_are_told() {
    let named = |name: &str, pipeline: &str| {
        let spec = format!("spec:\n  pipeline_name: {pipeline}");
        PIPELINE.replace("checkout", name).replace("spec:", &spec)
    };
    let both = format!("{}---\n{}", named("one", "a.b"), named("two", "a_b"));
    let output = run(&["validate", "-f", "-"], &both);
    assert_eq!(code(&output), Some(1));
    assert_eq!(
        stdout(&output),
        "-:1: ingest/one: valid\n-:22: ingest/two: spec.pipeline_name: NameCollision: StreamingPipeline ingest/one can have \
         Pods or ConfigMaps named svc-pipeline-a-b-0-canary in namespace ingest as well; choose another pipeline_name, \
         service_name or segment_id\n"
    );
    let elsewhere = both.replacen("namespace: ingest", "namespace: other", 1);
    assert_eq!(code(&run(&["validate", "-f", "-"], &elsewhere)), Some(0));
    let shared = ["validate", "--workload-namespace", "work", "-f", "-"];
    assert_eq!(code(&run(&shared, &elsewhere)), Some(1));
}

#[test]
fn other_kinds_are_skipped_with_a_note_and_lists_are_opened() {
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n- {}",
        PIPELINE.trim_end().replace('\n', "\n  ")
    );
    let output = run(&["validate", "-f", "-"], &list);
    assert_eq!(code(&output), Some(0));
    assert_eq!(stdout(&output), "-:6: ingest/checkout: valid\n");
    assert_eq!(
        stderr(&output),
        "-:4: skipped: v1 Service is no StreamingPipeline of streams.sentry.io/v1alpha1\n"
    );
}

#[test]
fn what_cannot_be_read_is_another_exit_code_and_hides_nothing() {
    let output = run(&["validate", "-f", "-"], &format!("a: [\n---\n{PIPELINE}"));
    assert_eq!(code(&output), Some(2));
    assert_eq!(stdout(&output), "-:3: ingest/checkout: valid\n");
    assert!(
        stderr(&output).starts_with("-:1: cannot be read: invalid YAML: "),
        "{}",
        stderr(&output)
    );
    let missing = run(&["validate", "-f", "no/such/file.yaml"], "");
    assert_eq!(code(&missing), Some(2));
    assert_eq!(code(&run(&["validate"], "")), Some(2));
}

#[test]
fn a_namespace_left_out_is_the_default_one_and_a_name_must_be_there() {
    let output = run(&["validate", "-f", "-"], &PIPELINE.replace(", namespace: ingest", ""));
    assert_eq!(stdout(&output), "-:1: default/checkout: valid\n");
    let nameless = PIPELINE.replace("name: checkout, ", "");
    let output = run(
        &["validate", "-f", "-"],
        &nameless.replace("service_name: svc", "service_name: svc\n  pipeline_name: p"),
    );
    assert_eq!(
        stdout(&output),
        "-:3: ingest/: metadata.name: must be set, or metadata.generateName\n"
    );
}

#[test]
fn rendered_lines_have_the_template_of_each_wanted_set() {
    let canary = PIPELINE.replace("spec:", "spec:\n  replicas: 3\n  with_canary: true");
    let bad = PIPELINE.replace("svc", "___");
    let output = run(
        &["render", "-f", "-", "-o", "rendered"],
        &format!("{PIPELINE}---\n{canary}---\n{bad}"),
    );
    assert_eq!(code(&output), Some(1));
    let lines: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [plain, canary, bad] = &lines[..] else {
        panic!("three lines, not {}", lines.len());
    };
    assert_eq!(
        (&plain["name"], &plain["namespace"]),
        (&json!("checkout"), &json!("ingest"))
    );
    assert_eq!(plain["sets"]["canary"], Value::Null);
    assert_eq!(plain["sets"]["primary"]["replicas"], 1);
    assert_eq!(plain["sets"]["primary"]["baseName"], "svc-pipeline-checkout-0");
    let version = plain["configVersion"].as_str().expect("a version");
    let config = format!("svc-pipeline-checkout-0-{}", &version[..10]);
    assert_eq!(plain["configMap"]["name"], config);
    let template = &plain["sets"]["primary"]["template"];
    assert_eq!(template["spec"]["volumes"][0]["configMap"]["name"], config);
    assert_eq!(template["spec"]["restartPolicy"], "Never");
    assert_eq!(template["spec"]["containers"][0].get("env"), None);
    assert_eq!(canary["sets"]["primary"]["replicas"], 2);
    assert_eq!(canary["sets"]["canary"]["replicas"], 1);
    assert_eq!(canary["sets"]["canary"]["baseName"], "svc-pipeline-checkout-0-canary");
    assert_eq!(
        bad,
        &json!({"name": "checkout", "namespace": "ingest", "faults": [{
            "field": "spec.service_name", "rule": "rendered-names", "reason": "FieldValueInvalid",
            "message": "must have a letter or digit of a-z, 0-9: nothing of it can stand in a name"}]})
    );
}

#[test]
fn json_documents_keep_their_literals_in_what_is_rendered() {
    let object = r#"{"apiVersion":"streams.sentry.io/v1alpha1","kind":"StreamingPipeline","metadata":{"name":"n"},"spec":{
        "service_name":"s","pipeline_module":"m","image_name":"i:1","cpu_per_process":1,"memory_per_process":1,
        "deployment_template":{},"container_template":{},
        "pipeline_config":{"env":{"A":1.0,"B":100000000000000000000,"C":"\ud83d\ude00"},"pipeline":{"segments":[]}}}}"#;
    let output = run(&["render", "-f", "-", "-o", "rendered"], object);
    let line: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        line["configMap"]["text"],
        r#"{"env": {"A": 1.0, "B": 100000000000000000000, "C": "\ud83d\ude00"}, "pipeline": {"segments": []}}"#
    );
    // The same numbers in YAML are what kubectl would send.
    let yaml = PIPELINE.replace("  pipeline_config:", "  pipeline_config:\n    env: {A: 1.0, B: 1e20}");
    let output = run(&["render", "-f", "-", "-o", "rendered"], &yaml);
    let line: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let text = line["configMap"]["text"].as_str().expect("a text");
    assert!(
        text.starts_with(r#"{"env": {"A": 1, "B": 100000000000000000000}"#),
        "{text}"
    );
}

#[test]
fn objects_are_the_config_map_and_the_pods_the_canary_first() {
    let canary = PIPELINE.replace("spec:", "spec:\n  replicas: 3\n  with_canary: true");
    let output = run(&["render", "-f", "-", "-o", "json"], &canary);
    assert_eq!(code(&output), Some(0));
    let list: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(list["kind"], "List");
    let named = list["items"].as_array().expect("items").iter().map(|item| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&item["kind"]), text(&item["metadata"]["name"]))
    });
    let named: Vec<_> = named.collect();
    let expected = [
        ("Pod", "svc-pipeline-checkout-0-canary-0-0"),
        ("Pod", "svc-pipeline-checkout-0-0-0"),
        ("Pod", "svc-pipeline-checkout-0-1-0"),
    ];
    assert_eq!(named.first().map(|(kind, _)| kind.as_str()), Some("ConfigMap"));
    let pods: Vec<_> = named
        .iter()
        .skip(1)
        .map(|(kind, name)| (kind.as_str(), name.as_str()))
        .collect();
    assert_eq!(pods, expected);
    // YAML is the same, document by document.
    let output = run(&["render", "-f", "-"], &canary);
    assert_eq!(stdout(&output).matches("---\n").count(), 4);
}

#[test]
fn all_golden_specs_are_rendered_in_one_process_with_the_version_that_python_gave_them() {
    let golden = include_str!("../golden/golden.jsonl").lines();
    let golden: Vec<Value> = golden.map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let documents = golden.iter().map(|line| {
        let name = line["name"].as_str().unwrap_or("object");
        json!({"apiVersion": "streams.sentry.io/v1alpha1", "kind": "StreamingPipeline",
               "metadata": {"name": name}, "spec": line["spec"]})
        .to_string()
    });
    let input = documents.collect::<Vec<_>>().join("\n---\n");
    let output = run(&["render", "-f", "-", "-o", "rendered"], &input);
    assert_eq!((code(&output), stderr(&output)), (Some(1), String::new()));
    let rendered = stdout(&output);
    let rendered: Vec<Value> = rendered
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(rendered.len(), 844);
    let valid = golden
        .iter()
        .zip(&rendered)
        .filter(|(_, ours)| ours.get("faults").is_none());
    let versions: Vec<_> = valid
        .map(|(python, ours)| (&python["id"], &python["config_version"], &ours["configVersion"]))
        .collect();
    assert_eq!(versions.len(), 307);
    for (id, python, ours) in versions {
        assert!(python.is_null() || python == ours, "{id}: {ours}, not {python}");
    }
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    for arguments in [
        &["crd"] as &[&str],
        &["webhook-config"],
        &["validate", "-f", "examples"],
        &["render", "-f", "examples"],
        &["plan", "-f", "examples"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(File::create("/dev/full").expect("a device that takes nothing"))
            .output()
            .expect("the program");
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(
            stderr(&output).contains("the output cannot be written"),
            "{arguments:?}"
        );
    }
}
