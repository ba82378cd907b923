//! The table `yaml/kubectl.jsonl`, by which the tests of the reader of manifests go, says what the real kubectl does.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on ends in a panic"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Row {
    yaml: String,
    /// `None`: kubectl refuses it.
    json: Option<String>,
}

fn rows() -> Vec<Row> {
    let rows = include_str!("yaml/kubectl.jsonl").lines();
    rows.map(|row| serde_json::from_str(row).expect("a row")).collect()
}

/// An object with the YAML as its spec.
fn document(yaml: &str) -> String {
    let mut document = "apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec:\n".to_owned();
    for line in yaml.split('\n') {
        let indent = if line.is_empty() { "" } else { "  " };
        writeln!(document, "{indent}{line}").expect("a String takes it");
    }
    document
}

/// Lets kubectl read a manifest without a cluster, and print what it read.
fn kubectl(manifest: &[u8]) -> Output {
    let program = testkit::assets::asset("kubectl").expect("kubectl");
    let mut child = Command::new(program)
        .args(["label", "--local", "-f", "-", "a=b", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl");
    let mut stdin = child.stdin.take().expect("its stdin");
    // It stops reading at the first fault.
    let _ = stdin.write_all(manifest);
    drop(stdin);
    child.wait_with_output().expect("its output")
}

#[test]
fn the_table_says_what_kubectl_reads() {
    let readable: Vec<Row> = rows().into_iter().filter(|row| row.json.is_some()).collect();
    let manifest: Vec<_> = readable.iter().map(|row| document(&row.yaml)).collect();
    let output = kubectl(manifest.join("---\n").as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let read: Vec<Value> = read.collect::<Result<_, _>>().expect("objects");
    assert_eq!(read.len(), readable.len());
    for (row, object) in readable.iter().zip(read) {
        let expected: Value = serde_json::from_str(row.json.as_deref().unwrap_or_default()).expect("JSON");
        assert_eq!(object["spec"], expected, "{}", row.yaml);
    }
}

#[test]
fn the_table_says_what_kubectl_refuses() {
    for row in rows().into_iter().filter(|row| row.json.is_none()) {
        assert!(
            !kubectl(document(&row.yaml).as_bytes()).status.success(),
            "{}",
            row.yaml
        );
    }
}

#[test]
fn kubectl_reads_utf_16_where_a_byte_order_mark_says_so_and_only_there() {
    let text = document("a: é");
    let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    let little = |text: &str| units(text).into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| units(text).into_iter().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let marked = format!("\u{feff}{text}---\n{text}");
    for bytes in [little(&marked), big(&marked)] {
        let output = kubectl(&bytes);
        let read = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
        let specs: Vec<Value> = read.map(|object| object.expect("an object")["spec"].take()).collect();
        assert_eq!(specs, [serde_json::json!({"a": "é"}), serde_json::json!({"a": "é"})]);
    }
    for bytes in [little(&text), big(&text)] {
        assert!(!kubectl(&bytes).status.success());
    }
}
