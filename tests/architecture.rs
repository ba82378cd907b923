//! The boundaries of `src/lib.rs` hold: the core is pure, the layers look one way, untyped JSON stays in its rooms.

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
        !(is_word(word.chars().next()) && is_word(before)) && !(is_word(word.chars().next_back()) && is_word(after))
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
fn a_word_is_found_only_as_a_word() {
    assert!(contains_word("let c: Client = x;", "Client"));
    assert!(contains_word("Timestamp::now()", "::now("));
    assert!(!contains_word("ClientError", "Client"));
    assert!(!contains_word("fn asynchronous()", "async"));
}
