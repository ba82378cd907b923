//! `streaming-operator validate`: the webhook's answer to files; offline, less what needs the cluster, or with it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;

use super::dry_run::{self, Asked, Told};
use super::input::{self, Document, Input, Place};
use super::judge::{Fault, Names, judge_against, judge_analysis, repeated, repeated_analyses};
use super::namespace::WorkloadNamespace;
use super::server::Server;
use crate::core::validation::UNKNOWN_FIELD;
use crate::core::violation::Warning;

/// What to validate, and how to say it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders of pipelines and analyses (.yaml, .yml, .json); - is stdin. Other kinds in them are skipped.
    #[arg(short = 'f', long = "filename", value_name = "FILE|-", required = true)]
    files: Vec<String>,
    /// Form of the answer: for people, for programs, or as annotations of a GitHub workflow.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    workload_namespace: WorkloadNamespace,
    /// Also asks the API server of the kubeconfig, by dry runs of creates and updates: names of stored pipelines, fields
    /// that may not change, rights, quotas, other webhooks.
    #[arg(long)]
    server: bool,
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
    /// Where it stands among all.
    #[serde(skip)]
    position: usize,
    file: String,
    document: usize,
    line: usize,
    name: String,
    namespace: String,
    faults: Vec<PlacedFault>,
    warnings: Vec<PlacedWarning>,
    /// Why the API server could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    unasked: Option<String>,
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

impl PlacedWarning {
    fn in_words(&self) -> String {
        let Self { field, message, .. } = self;
        if field.is_empty() {
            message.clone()
        } else {
            format!("{field}: {message}")
        }
    }
}

/// Validates the files. Exit code 0: no fault; 1: faults; 2: something could not be read; 4: the API server could not, or
/// may not, be asked about a pipeline.
pub(super) fn run(args: &Args) -> ExitCode {
    if let Some(refused) = super::refuse_stdin_twice(&args.files) {
        return refused;
    }
    let server = args.server.then(Server::connect);
    let namespace = server.as_ref().map_or("default", |server| &server.namespace);
    let input = input::read_in(namespace, &args.files).served().with_namespaces();
    input.report_of_both(&args.files);
    let ask = |documents: &[Document]| {
        let server = server.as_ref();
        server.map(|server| dry_run::ask(server, documents)).unwrap_or_default()
    };
    let mut entries = entries(&input, ask(&input.documents), args.workload_namespace.get());
    entries.extend(analysis_entries(&input, ask(&input.analyses)));
    entries.sort_by_key(|entry| entry.position);
    report_unasked(&entries);
    let is_valid = entries.iter().all(|entry| entry.faults.is_empty());
    let is_whole = entries.iter().all(|entry| entry.unasked.is_none());
    let code = if is_whole || !input.problems.is_empty() {
        exit_code(&input, is_valid)
    } else {
        ExitCode::from(4)
    };
    let text = match args.output {
        Output::Text => text(&entries),
        Output::Github => github(&entries, &input),
        Output::Json => {
            let report = Report {
                valid: is_valid && is_whole && input.problems.is_empty(),
                documents: entries,
            };
            serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
        }
    };
    let mut out = std::io::stdout().lock();
    super::after_printing(out.write_all(text.as_bytes()).and_then(|()| out.flush()), code)
}

fn report_unasked(entries: &[Entry]) {
    for entry in entries {
        let Entry {
            file,
            line,
            name,
            namespace,
            unasked,
            ..
        } = entry;
        if let Some(why) = unasked {
            eprintln!("{file}:{line}: {namespace}/{name}: the API server could not be asked: {why}");
        }
    }
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
    format!("{file}:{line}: {namespace}/{name}: {}", fault.in_words())
}

/// The answers to all documents; `asked` is what the API server said to each, or nothing.
fn entries(input: &Input, asked: Vec<Asked>, workload_namespace: Option<&str>) -> Vec<Entry> {
    let mut names = Names::default();
    for (document, Asked { stored, .. }) in input.documents.iter().zip(&asked) {
        // Its names are its own, wherever in the files it stands.
        if let Some(stored) = stored {
            names.hold(document, stored, workload_namespace);
        }
    }
    let mut asked = asked.into_iter();
    let entries = input.documents.iter().zip(repeated(input));
    entries
        .map(|(document, again)| entry(document, again, asked.next(), &mut names, workload_namespace))
        .collect()
}

/// The answer to a document; `again` is the fault of one whose pipeline stands in the files already.
fn entry(
    document: &Document,
    again: Option<Fault>,
    asked: Option<Asked>,
    names: &mut Names,
    workload_namespace: Option<&str>,
) -> Entry {
    let (stored, told) = asked.map_or((None, None), |asked| (asked.stored, Some(asked.told)));
    let answer = judge_against(document, stored.as_ref());
    let faults = match &answer.pipeline {
        Ok(pipeline) => names
            .claim(document, pipeline, workload_namespace)
            .into_iter()
            .collect(),
        // What is wrong with the stored object too refuses nothing.
        Err(_) if stored.is_some() => answer.brought_in.clone(),
        Err(faults) => faults.clone(),
    };
    let faults = again.into_iter().chain(faults).collect();
    told_of(document, faults, answer.warnings, told.unwrap_or_default())
}

/// The answers to all analyses; `asked` as in [`entries`].
fn analysis_entries(input: &Input, asked: Vec<Asked>) -> Vec<Entry> {
    let mut asked = asked.into_iter();
    let entries = input
        .analyses
        .iter()
        .zip(repeated_analyses(input))
        .map(|(document, again)| {
            let (stored, told) = asked
                .next()
                .map_or((None, None), |asked| (asked.stored, Some(asked.told)));
            let (faults, warnings) = judge_analysis(document, stored.as_ref());
            let faults = again.into_iter().chain(faults).collect();
            told_of(document, faults, warnings, told.unwrap_or_default())
        });
    entries.collect()
}

/// What was found here of a document, and what the API server says of it besides.
fn told_of(document: &Document, faults: Vec<Fault>, mut here: Vec<Warning>, told: Told) -> Entry {
    let (found_there, said_there, unasked) = told.into_parts();
    let faults = dry_run::join(faults, found_there);
    let is_refused = |field: &str| faults.iter().any(|fault| fault.field == field);
    // That a field is dropped is no news where it is a fault.
    here.retain(|warning| warning.rule != UNKNOWN_FIELD || !is_refused(&warning.path));
    let Place {
        file,
        document: number,
        line,
    } = document.place.clone();
    Entry {
        position: document.position,
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
        warnings: warnings(document, here, said_there),
        unasked,
    }
}

/// What was found here, and what the API server says besides: a line each, with a path in front where there is one.
fn warnings(document: &Document, here: Vec<Warning>, there: Vec<String>) -> Vec<PlacedWarning> {
    let known: Vec<String> = here.iter().map(ToString::to_string).collect();
    let here = here
        .into_iter()
        .map(|warning| (warning.path, warning.rule, warning.message));
    let there = there.into_iter().filter(|text| !known.contains(text));
    let there = there.map(|text| match text.split_once(": ") {
        Some((path, message)) if path.starts_with("spec") && !path.contains(' ') => {
            (path.to_owned(), dry_run::RULE, message.to_owned())
        }
        _ => (String::new(), dry_run::RULE, text),
    });
    let placed = here.chain(there).map(|(field, rule, message)| PlacedWarning {
        line: document.line_of(&field),
        field,
        rule,
        message,
    });
    placed.collect()
}

fn text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let Entry {
            file, name, namespace, ..
        } = entry;
        if entry.faults.is_empty() && entry.unasked.is_none() {
            put(
                &mut text,
                format_args!("{file}:{}: {namespace}/{name}: valid", entry.line),
            );
        }
        for PlacedFault { fault, line } in &entry.faults {
            let fault = fault.in_words();
            put(&mut text, format_args!("{file}:{line}: {namespace}/{name}: {fault}"));
        }
        for warning in &entry.warnings {
            let (line, warning) = (warning.line, warning.in_words());
            put(
                &mut text,
                format_args!("{file}:{line}: {namespace}/{name}: warning: {warning}"),
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
            command("error", &entry.file, *line, &fault.in_words());
        }
        if let Some(why) = &entry.unasked {
            let message = format!("the API server could not be asked: {why}");
            command("error", &entry.file, entry.line, &message);
        }
        for warning in &entry.warnings {
            command("warning", &entry.file, warning.line, &warning.in_words());
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
