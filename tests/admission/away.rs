//! What the page on admission says of edits while the operator is away is so: each row of its table is tried, in order,
//! with no replica answering, and then the command that lets edits through.

use std::path::Path;

use serde_json::json;
use testkit::wait::{self, Seen};

use super::bed::{Bed, manifest};

const PAGE: &str = include_str!("../../docs/admission.md");

/// The part of the page that is tried.
fn section() -> &'static str {
    let (_, section) = PAGE.split_once("## While the operator is away\n").expect("the section");
    section.split("\n## ").next().expect("its text")
}

/// What is asked for, whether it works, and the command that was tried.
fn rows() -> Vec<(&'static str, bool, &'static str)> {
    let lines = section().lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let row = |cells: Vec<&'static str>| {
        let [what, answer, command] = cells[..] else {
            panic!("three cells, not {cells:?}")
        };
        let works = match answer {
            "works" => true,
            "refused" => false,
            other => panic!("{what}: {other:?} is neither works nor refused"),
        };
        (what, works, command.trim_matches('`'))
    };
    cells.map(row).collect()
}

/// The words of a command of the page, for the files and the namespace of the test.
fn words(command: &str, folder: &Path, namespace: &str) -> Vec<String> {
    let words = command.split_whitespace().skip(1).map(|word| {
        let word = word
            .trim_matches('\'')
            .replace("/namespaces/ingest/", &format!("/namespaces/{namespace}/"));
        let file = folder.join(&word);
        if file.is_file() {
            file.display().to_string()
        } else {
            word
        }
    });
    words.collect()
}

async fn run(bed: &Bed, command: &str, folder: &Path) -> Result<String, String> {
    assert!(command.starts_with("kubectl "), "{command}");
    let words = words(command, folder, &bed.namespace);
    bed.kubectl(&words.iter().map(String::as_str).collect::<Vec<_>>()).await
}

/// The files that the commands name.
fn files(namespace: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, object: serde_json::Value| {
        std::fs::write(folder.path().join(name), object.to_string()).expect("a file");
    };
    let mut edited = manifest("checkout");
    edited["spec"]["image_name"] = json!("registry.example/consumer:2");
    write("stored.yaml", manifest("checkout"));
    write("edited.yaml", edited);
    write("new.yaml", manifest("sessions"));
    write(
        "scale.json",
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
               "metadata": {"name": "checkout", "namespace": namespace}, "spec": {"replicas": 4}}),
    );
    folder
}

#[tokio::test]
async fn each_row_of_the_page_holds_while_no_replica_answers() {
    let mut bed = Bed::start().await;
    let folder = files(&bed.namespace);
    run(&bed, "kubectl apply -f stored.yaml", folder.path())
        .await
        .expect("it is admitted");
    bed.stop().await;
    let rows = rows();
    assert_eq!(rows.len(), 23, "the table has been read as a whole");
    for (what, works, command) in rows {
        let answer = run(&bed, command, folder.path()).await;
        assert_eq!(answer.is_ok(), works, "{what}: {command}: {answer:?}");
        if let Err(refusal) = answer {
            assert!(refusal.contains("failed calling webhook"), "{command}: {refusal}");
        }
    }
    assert_eq!(
        bed.names_of_pipelines().await,
        Vec::<String>::new(),
        "the last rows end it"
    );
}

#[tokio::test]
async fn the_command_of_the_page_lets_edits_through_and_the_schema_still_holds() {
    let mut bed = Bed::start().await;
    let folder = files(&bed.namespace);
    bed.stop().await;
    let (_, block) = section().split_once("```sh\n").expect("the command");
    let command = block.split("\n```").next().expect("its text");
    run(&bed, command, folder.path()).await.expect("they are deleted");
    let create = async || {
        let created = run(&bed, "kubectl create -f new.yaml", folder.path()).await;
        Ok(Seen::when(created, Result::is_ok))
    };
    let created = wait::until("creates to pass", wait::DEADLINE, create).await;
    created.expect("they pass").expect("it is stored");
    let refusal = bed
        .patch("sessions", r#"{"spec":{"replicas":-1}}"#)
        .await
        .expect_err("the schema");
    assert!(refusal.contains("spec.replicas"), "{refusal}");
    let refusal = bed
        .patch("sessions", r#"{"spec":{"service_name":"x"}}"#)
        .await
        .expect_err("a CEL rule");
    assert!(refusal.contains("service_name is immutable"), "{refusal}");
}
