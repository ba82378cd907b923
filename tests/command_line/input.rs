//! What is told of the files themselves: nothing in them, a pipeline twice, stdin twice, encodings, fields that nobody
//! knows; and of flags that name a namespace.

use std::process::Command;

use crate::{PIPELINE, code, run, stderr, stdout};

const COMMANDS: [&str; 3] = ["validate", "render", "plan"];

#[test]
fn files_without_a_pipeline_are_told_and_no_fault() {
    for command in COMMANDS {
        let output = run(&[command, "-f", "-"], "apiVersion: v1\nkind: Service\n");
        assert_eq!((code(&output), stdout(&output)), (Some(0), String::new()), "{command}");
        assert_eq!(
            stderr(&output),
            "streaming-operator: no StreamingPipeline of streams.sentry.io/v1alpha1 was found in -\n-:1: skipped: v1 \
             Service is no StreamingPipeline of streams.sentry.io/v1alpha1\n",
            "{command}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("UTF-8");
        let output = run(&[command, "-f", path, "-f", "-"], "");
        let told =
            format!("streaming-operator: no StreamingPipeline of streams.sentry.io/v1alpha1 was found in {path}, -\n");
        assert_eq!((code(&output), stderr(&output)), (Some(0), told), "{command}");
    }
}

#[test]
fn a_pipeline_that_stands_twice_is_a_fault_of_the_later_document() {
    let again = PIPELINE.replace("app:1", "app:2");
    let elsewhere = PIPELINE.replace("namespace: ingest", "namespace: other");
    let all = format!("{PIPELINE}---\n{elsewhere}---\n{again}");
    let output = run(&["validate", "-f", "-"], &all);
    assert_eq!(code(&output), Some(1));
    let fault = "-:35: ingest/checkout: metadata.name: the same pipeline stands at -:1 already; kubectl would apply both, \
                 and the last one would stay\n";
    assert_eq!(
        stdout(&output),
        format!("-:1: ingest/checkout: valid\n-:17: other/checkout: valid\n{fault}")
    );
    let output = run(&["validate", "-o", "json", "-f", "-"], &all);
    assert!(
        stdout(&output).contains(r#""rule": "duplicate-pipelines","#)
            && stdout(&output).contains("FieldValueDuplicate"),
        "{}",
        stdout(&output)
    );
    let output = run(&["plan", "-f", "-"], &all);
    assert_eq!(code(&output), Some(1));
    assert!(stdout(&output).ends_with(fault), "{}", stdout(&output));
    // Rendered are both, for whoever compares them.
    let note = fault.replace("checkout: metadata", "checkout: warning: metadata");
    let output = run(&["render", "-f", "-"], &all);
    assert_eq!((code(&output), stderr(&output)), (Some(0), note));
    let output = run(&["render", "-o", "rendered", "-f", "-"], &all);
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
    assert_eq!(stdout(&output).lines().count(), 3);
}

#[test]
fn pipelines_whose_names_are_generated_are_never_the_same() {
    let generated = |pipeline: &str| {
        let spec = format!("spec:\n  pipeline_name: {pipeline}");
        PIPELINE
            .replace("name: checkout", "generateName: checkout-")
            .replace("spec:", &spec)
    };
    let both = format!("{}---\n{}", generated("one"), generated("two"));
    let output = run(&["validate", "-f", "-"], &both);
    assert_eq!(
        (code(&output), stdout(&output)),
        (
            Some(0),
            "-:1: ingest/checkout-: valid\n-:18: ingest/checkout-: valid\n".to_owned()
        )
    );
}

#[test]
fn a_field_that_nobody_knows_is_a_warning_at_its_line() {
    let typos = PIPELINE
        .replace("kind:", "sepc: {}\nkind:")
        .replace("name: checkout", "name: checkout, label: {a: b}")
        .replace(
            "spec:",
            "spec:\n  rollout:\n    paused: false\n    pausd: true\n  replica: 3",
        );
    let told = |path: &str, line: usize| {
        format!(
            "-:{line}: ingest/checkout: warning: {path}: is an unknown field: kubectl refuses it, other clients drop it\n"
        )
    };
    let warnings = [
        told("sepc", 2),
        told("metadata.label", 4),
        told("spec.rollout.pausd", 8),
        told("spec.replica", 9),
    ]
    .concat();
    let output = run(&["validate", "-f", "-"], &typos);
    assert_eq!(
        (code(&output), stdout(&output)),
        (Some(0), format!("-:1: ingest/checkout: valid\n{warnings}"))
    );
    for command in ["render", "plan"] {
        let output = run(&[command, "-f", "-"], &typos);
        assert_eq!(
            (code(&output), stderr(&output)),
            (Some(0), warnings.clone()),
            "{command}"
        );
    }
}

#[test]
fn stdin_is_read_once() {
    for arguments in [
        &["plan", "-f", "-", "--old", "-"] as &[&str],
        &["validate", "-f", "-", "-f", "-"],
        &["render", "-f", "-", "-f", "-"],
    ] {
        let output = run(arguments, "");
        assert_eq!(
            (code(&output), stdout(&output)),
            (Some(2), String::new()),
            "{arguments:?}"
        );
        assert_eq!(
            stderr(&output),
            "streaming-operator: - is named twice, and stdin can be read only once: put one of them into a file\n"
        );
    }
}

#[test]
fn nothing_is_planned_when_a_part_of_the_files_cannot_be_read() {
    let output = run(&["plan", "-f", "-", "--old", "no/such/file.yaml"], PIPELINE);
    assert_eq!((code(&output), stdout(&output)), (Some(2), String::new()));
    assert_eq!(
        stderr(&output),
        "no/such/file.yaml:1: cannot be read: No such file or directory (os error 2)\n"
    );
    let output = run(&["plan", "-f", "-"], &format!("{PIPELINE}---\na: [\n"));
    assert_eq!((code(&output), stdout(&output)), (Some(2), String::new()));
}

#[test]
fn files_in_utf_16_are_read_as_kubectl_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let both = format!("\u{feff}{PIPELINE}---\n{}", PIPELINE.replace("checkout", "other"));
    let little: Vec<u8> = both.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = both.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big] {
        let file = folder.path().join("p.yaml");
        std::fs::write(&file, bytes).expect("a file");
        let file = file.to_str().expect("UTF-8");
        let output = run(&["validate", "-f", file], "");
        assert_eq!(
            (code(&output), stdout(&output)),
            (
                Some(0),
                format!("{file}:1: ingest/checkout: valid\n{file}:17: ingest/other: valid\n")
            )
        );
    }
    let file = folder.path().join("p.yaml");
    std::fs::write(&file, b"\xff\xfea").expect("a file");
    let output = run(&["validate", "-f", file.to_str().expect("UTF-8")], "");
    assert_eq!(code(&output), Some(2));
    assert!(
        stderr(&output).ends_with(
            "p.yaml:1: cannot be read: is no UTF-16, as its byte order mark says: it has an odd number of bytes\n"
        ),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_no_namespace_can_be_named_is_refused_wherever_a_flag_names_one() {
    for arguments in [
        &["validate", "-f", "-", "--workload-namespace", "A B"] as &[&str],
        &["render", "-f", "-", "--workload-namespace", "a.b"],
        &["plan", "-f", "-", "--workload-namespace", "a-"],
        &["webhook-config", "--watch-namespace", "A"],
        &["run", "--workload-namespace", "A B"],
    ] {
        let output = run(arguments, PIPELINE);
        assert_eq!(
            (code(&output), stdout(&output)),
            (Some(2), String::new()),
            "{arguments:?}"
        );
        let told = stderr(&output);
        assert!(
            told.contains("must be the name of a namespace"),
            "{arguments:?}: {told}"
        );
    }
}

#[test]
fn a_workload_namespace_that_is_set_to_nothing_is_not_set() {
    let output = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
        .args(["validate", "-f", "examples"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("STREAMS_WORKLOAD_NAMESPACE", "")
        .output()
        .expect("the program");
    assert_eq!((code(&output), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn a_pipeline_without_a_spec_lacks_its_required_fields_but_not_its_name() {
    let (head, _) = PIPELINE.split_once("spec:").expect("a spec");
    let output = run(&["validate", "-f", "-"], head);
    assert_eq!(code(&output), Some(1));
    let paths: Vec<String> = stdout(&output)
        .lines()
        .filter_map(|line| line.split(": ").nth(2).map(str::to_owned))
        .collect();
    assert_eq!(
        paths,
        [
            "spec.service_name",
            "spec.pipeline_module",
            "spec.image_name",
            "spec.cpu_per_process",
            "spec.memory_per_process",
            "spec.deployment_template",
            "spec.container_template",
            "spec.pipeline_config"
        ]
    );
}
