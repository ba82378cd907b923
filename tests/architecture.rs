//! The boundaries of `src/lib.rs` hold: the core is pure, the layers look one way, untyped JSON stays in its rooms.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test itself does: with a message"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Rust files below `src/<folder>`, with their text less comments and less what follows `#[cfg(test)]`.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root.join(folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "src/{folder} has no file: the test looks at nothing");
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a source file");
            let name = path.strip_prefix(&root).expect("below src").display().to_string();
            (name, code_of(&text))
        })
        .filter(|(name, _)| !is_test_file(name))
        .collect()
}

fn is_test_file(name: &str) -> bool {
    name.ends_with("tests.rs") || name.contains("/tests/")
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
        let entry = entry.expect("an entry").path();
        if entry.is_dir() || entry.extension().is_some_and(|e| e == "rs") {
            collect(&entry, files);
        }
    }
}

fn code_of(text: &str) -> String {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Lines of `sources(folder)` that hold one of `words`, as `file: line`.
fn lines_with(folder: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, code) in sources(folder) {
        for line in code.lines() {
            if words.iter().any(|word| contains_word(line, word)) {
                found.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    found
}

/// Whether `line` has `word` with no letter, digit or `_` before or behind it (where the word itself begins or ends with
/// one).
fn contains_word(line: &str, word: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let begins = is_word(word.chars().next()) && is_word(before);
        let ends = is_word(word.chars().next_back()) && is_word(after);
        !begins && !ends
    })
}

#[test]
fn the_core_awaits_nothing_calls_nothing_logs_nothing_and_reads_no_clock() {
    let impure = [
        "async", ".await", "Client", "Api<", "tokio", "tracing", "::now(", "rand::", "std::env", "std::fs", "std::net",
    ];
    assert_eq!(lines_with("core", &impure), Vec::<String>::new());
}

#[test]
fn the_core_imports_nothing_of_ours_but_api() {
    assert_eq!(
        lines_with(
            "core",
            &[
                "crate::cli",
                "crate::controller",
                "crate::webhook",
                "crate::certs",
                "crate::server",
                "crate::leader",
                "crate::telemetry"
            ]
        ),
        Vec::<String>::new()
    );
}

#[test]
fn the_wire_types_import_nothing_of_ours() {
    assert_eq!(lines_with("api", &["crate::"]), Vec::<String>::new());
}

#[test]
fn controller_and_webhook_never_import_each_other() {
    assert_eq!(
        lines_with("controller", &["crate::webhook", "crate::certs", "crate::server"]),
        Vec::<String>::new()
    );
    assert_eq!(
        lines_with("webhook", &["crate::controller", "crate::certs", "crate::leader"]),
        Vec::<String>::new()
    );
}

#[test]
fn no_shell_imports_the_composition_root_or_the_command_line() {
    for shell in [
        "controller",
        "analyses",
        "webhook",
        "certs",
        "server",
        "caches",
        "telemetry",
        "client.rs",
        "leader.rs",
        "metrics_sources",
    ] {
        assert_eq!(
            lines_with(shell, &["crate::operator", "crate::cli"]),
            Vec::<String>::new(),
            "{shell}"
        );
    }
}

/// Where untyped JSON may be handled, with what makes it unavoidable there.
const ROOMS_OF_UNTYPED_JSON: &[(&str, &str)] = &[
    (
        "api/deployment.rs",
        "a template whose every field is part of its digest",
    ),
    ("api/manifests.rs", "the default of a status"),
    ("api/rollout_analysis.rs", "a column is called so"),
    ("api/stored.rs", "reads what others may have stored"),
    ("api/streaming_pipeline.rs", "the four open fields"),
    ("cli/dry_run", "sends manifests as they are"),
    ("cli/input", "manifests of any kind"),
    ("cli/judge.rs", "judges manifests as the webhook does"),
    ("cli/pipeline", "patches, and specs as they were stored"),
    ("cli/render.rs", "prints what is rendered"),
    ("cli/rules.rs", "lets the webhook refuse a review without an object"),
    ("cli/yaml.rs", "prints any object"),
    ("core/analysis/admission.rs", "looks into the user's objects"),
    ("core/analysis/defaults.rs", "fields our types do not know must survive"),
    ("core/analysis/rules.rs", "looks into the user's objects"),
    ("core/analysis/schema.rs", "looks into the user's objects"),
    ("core/compose", "puts the user's templates and ours together"),
    ("core/config_text.rs", "the user's configuration as text"),
    ("core/defaults.rs", "fields our types do not know must survive"),
    ("core/merge.rs", "merges the user's templates"),
    ("core/multi_process.rs", "looks into the user's configuration"),
    ("core/path.rs", "walks to the value that a fault is about"),
    ("core/render.rs", "its output"),
    ("core/revision.rs", "hashes canonical JSON"),
    ("core/sorted_json.rs", "canonical JSON"),
    ("core/stored_revision.rs", "templates as they were stored"),
    ("core/validation", "looks into the user's objects"),
    ("core/undo.rs", "specs as they were stored"),
    ("core/violation.rs", "names a value in a message"),
    ("webhook/judge.rs", "takes a name off that the API server will change"),
    ("webhook/patch.rs", "the difference of raw objects"),
    ("webhook/review.rs", "decodes the review around the raw object"),
    ("webhook/review/quick.rs", "leaves out what nobody looks at"),
];

#[test]
fn untyped_json_stays_in_its_rooms() {
    let words = [
        "serde_json::Value",
        "serde_json::Map",
        "serde_json::json",
        "json!",
        "Value",
        "OpenObject",
    ];
    let outside: Vec<_> = lines_with("", &words)
        .into_iter()
        .filter(|line| !ROOMS_OF_UNTYPED_JSON.iter().any(|(room, _)| line.starts_with(room)))
        .collect();
    assert_eq!(outside, Vec::<String>::new());
}

#[test]
fn every_room_of_untyped_json_is_in_use() {
    let words = ["Value", "json!", "OpenObject"];
    let used = lines_with("", &words);
    for (room, _) in ROOMS_OF_UNTYPED_JSON {
        assert!(
            used.iter().any(|line| line.starts_with(room)),
            "{room} needs no untyped JSON any more: take it off the list"
        );
    }
}

#[test]
fn a_word_is_found_only_as_a_word() {
    assert!(contains_word("let c: Client = x;", "Client"));
    assert!(contains_word("Timestamp::now()", "::now("));
    assert!(!contains_word("ClientError", "Client"));
    assert!(!contains_word("fn asynchronous()", "async"));
}
