//! `streaming-operator validate`: the webhook's answer to files, offline, less what needs the cluster.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;

use super::input::{self, Document, Input, Place};
use super::judge::{Fault, Names, judge};

/// What to validate, and how to say it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders of manifests (.yaml, .yml, .json); - is stdin. Other kinds in them are skipped.
    #[arg(short = 'f', long = "filename", value_name = "FILE|-", required = true)]
    files: Vec<String>,
    /// Form of the answer: for people, for programs, or as annotations of a GitHub workflow.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Namespace in which the Pods of all pipelines run; without it, that of each pipeline. Names collide within one.
    #[arg(long, value_name = "NAMESPACE", env = "STREAMS_WORKLOAD_NAMESPACE")]
    workload_namespace: Option<String>,
}

/// Form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
    Github,
}

#[derive(Serialize)]
struct Report {
    valid: bool,
    documents: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    file: String,
    document: usize,
    line: usize,
    name: String,
    namespace: String,
    faults: Vec<PlacedFault>,
    warnings: Vec<PlacedWarning>,
}

#[derive(Serialize)]
struct PlacedFault {
    #[serde(flatten)]
    fault: Fault,
    line: usize,
}

#[derive(Serialize)]
struct PlacedWarning {
    field: String,
    rule: &'static str,
    message: String,
    line: usize,
}

/// Validates the files. Exit code 0: no fault; 1: faults; 2: something could not be read.
pub(super) fn run(args: &Args) -> ExitCode {
    let input = input::read(&args.files).served();
    input.report();
    let mut names = Names::default();
    let entries = input.documents.iter().map(|document| {
        let workload_namespace = args.workload_namespace.as_deref();
        entry(document, &mut names, workload_namespace)
    });
    let entries: Vec<Entry> = entries.collect();
    let is_valid = entries.iter().all(|entry| entry.faults.is_empty());
    let code = exit_code(&input, is_valid);
    let text = match args.output {
        Output::Text => text(&entries),
        Output::Github => github(&entries, &input),
        Output::Json => {
            let report = Report {
                valid: is_valid && input.problems.is_empty(),
                documents: entries,
            };
            serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
        }
    };
    let mut out = std::io::stdout().lock();
    super::after_printing(out.write_all(text.as_bytes()).and_then(|()| out.flush()), code)
}

/// 2 when something could not be read, else 1 when the answer is no, else 0.
pub(super) fn exit_code(input: &Input, is_valid: bool) -> ExitCode {
    match (input.problems.is_empty(), is_valid) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::from(1),
        (true, true) => ExitCode::SUCCESS,
    }
}

/// A fault as `file:line: namespace/name: path: message`.
pub(super) fn fault_line(document: &Document, fault: &Fault) -> String {
    let (namespace, name) = (document.namespace(), document.name());
    let (file, line) = (&document.place.file, document.line_of(&fault.field));
    format!("{file}:{line}: {namespace}/{name}: {}: {}", fault.field, fault.message)
}

fn entry(document: &Document, names: &mut Names, workload_namespace: Option<&str>) -> Entry {
    let answer = judge(document);
    let faults = match &answer.pipeline {
        Ok(pipeline) => names
            .claim(document, pipeline, workload_namespace)
            .into_iter()
            .collect(),
        Err(faults) => faults.clone(),
    };
    let Place {
        file,
        document: number,
        line,
    } = document.place.clone();
    Entry {
        file,
        document: number,
        line,
        name: document.name().to_owned(),
        namespace: document.namespace().to_owned(),
        faults: faults
            .into_iter()
            .map(|fault| PlacedFault {
                line: document.line_of(&fault.field),
                fault,
            })
            .collect(),
        warnings: answer
            .warnings
            .into_iter()
            .map(|warning| PlacedWarning {
                line: document.line_of(&warning.path),
                field: warning.path,
                rule: warning.rule,
                message: warning.message,
            })
            .collect(),
    }
}

fn text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let Entry {
            file, name, namespace, ..
        } = entry;
        if entry.faults.is_empty() {
            put(
                &mut text,
                format_args!("{file}:{}: {namespace}/{name}: valid", entry.line),
            );
        }
        for PlacedFault { fault, line } in &entry.faults {
            let Fault { field, message, .. } = fault;
            put(
                &mut text,
                format_args!("{file}:{line}: {namespace}/{name}: {field}: {message}"),
            );
        }
        for PlacedWarning {
            field, message, line, ..
        } in &entry.warnings
        {
            put(
                &mut text,
                format_args!("{file}:{line}: {namespace}/{name}: warning: {field}: {message}"),
            );
        }
    }
    text
}

/// Workflow commands of GitHub Actions ("Workflow commands for GitHub Actions", setting an error message).
fn github(entries: &[Entry], input: &Input) -> String {
    let mut text = String::new();
    let mut command = |level: &str, file: &str, line: usize, message: &str| {
        let (file, message) = (property(file), data(message));
        put(&mut text, format_args!("::{level} file={file},line={line}::{message}"));
    };
    for problem in &input.problems {
        let message = format!("cannot be read: {}", problem.message);
        command("error", &problem.place.file, problem.place.line, &message);
    }
    for entry in entries {
        for PlacedFault { fault, line } in &entry.faults {
            let message = format!("{}: {}", fault.field, fault.message);
            command("error", &entry.file, *line, &message);
        }
        for PlacedWarning {
            field, message, line, ..
        } in &entry.warnings
        {
            command("warning", &entry.file, *line, &format!("{field}: {message}"));
        }
    }
    text
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
