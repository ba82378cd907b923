//! Status documents of Pods, and the verdict on each.
//!
//! `tests/fixtures/health/kubelet` has what a real kubelet said (`tests/real-node/capture.sh` wrote it down), and
//! `tests/fixtures/health/source` what others can say, each with the file and function of Kubernetes 1.36 that makes it
//! so. `tests/fixtures/health/verdicts.txt` has the verdicts, a line a look:
//!
//! ```text
//! document#number | second of the Pod's life | verdict | marks | second of the next look
//! ```
//!
//! The marks: `reported` as unhealthy, `replaced`, `permanent` (only a person can help), `disruption`, and `counts@N`
//! (towards the back-off, which runs from second N).

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test itself does: with a message"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use streaming_operator::core::health::{Graces, Health, Verdict, WaitingReason, classify};

/// The life of a Pod, as it was told of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Life {
    what: String,
    /// Of what a real kubelet said: how the Pod was made.
    made: Option<String>,
    /// Of what a real kubelet said: its version.
    kubelet: Option<String>,
    /// Of the others: the files and functions of Kubernetes that make it so.
    source: Option<String>,
    spec: PodSpec,
    documents: Vec<Document>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    metadata: ObjectMeta,
    status: PodStatus,
}

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/health")
}

/// The lives of a folder by name, `kubelet/exit-1`.
fn lives(folder: &str) -> BTreeMap<String, Life> {
    let files = fs::read_dir(fixtures().join(folder)).expect("the folder of documents");
    files
        .map(|file| {
            let path = file.expect("a file").path();
            let text = fs::read_to_string(&path).expect("a document");
            let life = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.file_stem().expect("a name").to_string_lossy();
            (format!("{folder}/{name}"), life)
        })
        .collect()
}

/// The Pod of each document, by name and number, `kubelet/exit-1#2`.
fn pods() -> BTreeMap<String, Pod> {
    let all = ["kubelet", "source"].map(lives);
    let mut pods = BTreeMap::new();
    for (name, life) in all.into_iter().flatten() {
        for (at, document) in life.documents.into_iter().enumerate() {
            let pod = Pod {
                metadata: document.metadata,
                spec: Some(life.spec.clone()),
                status: Some(document.status),
            };
            pods.insert(format!("{name}#{}", at + 1), pod);
        }
    }
    pods
}

/// The rows of the table, with the name of the document and the second of its Pod's life before each.
fn table() -> Vec<(String, i64, String)> {
    let text = fs::read_to_string(fixtures().join("verdicts.txt")).expect("the table");
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    rows.map(|line| {
        let mut columns = line.split('|').map(str::trim);
        let name = columns.next().expect("a name").to_owned();
        let second = columns.next().and_then(|second| second.parse().ok());
        let second = second.unwrap_or_else(|| panic!("no second: {line}"));
        (name, second, columns.collect::<Vec<_>>().join(" | "))
    })
    .collect()
}

/// What is said of a Pod at a second of its life, as the table has it.
fn said(pod: &Pod, second: i64) -> String {
    let created = pod.metadata.creation_timestamp.as_ref().expect("a time of creation").0;
    let graces = Graces {
        waiting: SignedDuration::from_secs(300),
        terminating: SignedDuration::from_secs(600),
        not_ready: SignedDuration::from_secs(900),
    };
    let health = classify(pod, created + SignedDuration::from_secs(second), &graces);
    let since = |time: Timestamp| time.duration_since(created).as_secs();
    let next = health.wake.map_or("-".to_owned(), |time| since(time).to_string());
    format!("{} | {} | {next}", verdict(&health.verdict), marks(&health, since))
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Ready => "ready".to_owned(),
        Verdict::Waiting(reason) => format!("waiting {reason}"),
        Verdict::Failed(reason) => format!("failed {reason}"),
        Verdict::Terminating => "terminating".to_owned(),
        Verdict::Stuck => "stuck".to_owned(),
    }
}

fn marks(health: &Health, since: impl Fn(Timestamp) -> i64) -> String {
    let counts = health.failed_at.filter(|_| health.counts());
    let marks = [
        health.report.then(|| "reported".to_owned()),
        health.replace.then(|| "replaced".to_owned()),
        health.permanent.then(|| "permanent".to_owned()),
        health.disruption.then(|| "disruption".to_owned()),
        counts.map(|at| format!("counts@{}", since(at))),
    ];
    marks.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_document_has_the_verdict_that_the_table_says() {
    let pods = pods();
    let wrong: Vec<_> = table()
        .into_iter()
        .filter_map(|(name, second, expected)| {
            let said = said(pods.get(&name)?, second);
            (said != expected).then(|| format!("{name} | {second}\n   wanted: {expected}\n   got:    {said}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_document_has_a_row_and_every_row_a_document() {
    let documents: BTreeSet<_> = pods().into_keys().collect();
    let rows: BTreeSet<_> = table().into_iter().map(|(name, ..)| name).collect();
    let without_row: Vec<_> = documents.difference(&rows).collect();
    let without_document: Vec<_> = rows.difference(&documents).collect();
    assert!(without_row.is_empty(), "no verdict is said of {without_row:?}");
    assert!(without_document.is_empty(), "no such document: {without_document:?}");
}

#[test]
fn at_least_seventy_documents_are_there_and_fifteen_are_a_real_kubelets() {
    let names: Vec<_> = pods().into_keys().collect();
    let real = names.iter().filter(|name| name.starts_with("kubelet/")).count();
    assert!(names.len() >= 70, "{} documents", names.len());
    assert!(real >= 15, "{real} documents of a real kubelet");
}

#[test]
fn every_document_says_what_it_is_and_where_it_comes_from() {
    for (name, life) in lives("kubelet") {
        let version = life.kubelet.unwrap_or_default();
        assert!(
            version.starts_with("v1."),
            "{name}: the version of its kubelet is {version:?}"
        );
        assert!(life.made.is_some() && !life.what.is_empty(), "{name}: how was it made?");
    }
    for (name, life) in lives("source") {
        let source = life.source.unwrap_or_default();
        let known = ["pkg/", "k8s.io/api "].iter().any(|start| source.starts_with(start));
        assert!(
            known && !life.what.is_empty(),
            "{name}: where does it come from? {source:?}"
        );
    }
}

#[test]
fn every_reason_to_wait_that_is_known_is_the_verdict_on_a_document() {
    let said: BTreeSet<_> = table()
        .into_iter()
        .filter_map(|(.., expected)| Some(expected.split('|').next()?.trim().to_owned()))
        .collect();
    for reason in WaitingReason::ALL {
        let verdict = format!("waiting {}", reason.as_str());
        assert!(said.contains(&verdict), "no document has the verdict {verdict}");
    }
}
