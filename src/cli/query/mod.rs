//! `streaming-operator query`: asks the queries of analyses once, and shows what comes back against the limits, before
//! anyone relies on them. Must never judge by itself: the operator's own judge does, and the operator's own client asks.

mod report;
mod variables;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use futures::future::join_all;

use super::Output;
use super::input::{self, Document};
use super::namespace::WorkloadNamespace;
use crate::api::RolloutAnalysisSpec;
use crate::core::analysis::answer::QueryError;
use crate::core::analysis::judge::Asked;
use crate::core::analysis::valid::ValidAnalysis;
use crate::metrics_sources::{SourceSettings, Sources, file};
use crate::telemetry::Metrics;
use report::{Entry, MetricEntry};
use variables::{Given, Resolver, Unresolved};

/// More than the longest time-out of a source.
const DEADLINE: Duration = Duration::from_secs(120);

/// What to ask, and whom.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("who").required(true).args(["metrics_source", "url"])))]
pub(super) struct Args {
    /// Files and folders with RolloutAnalyses (.yaml, .yml, .json); - is stdin. Other kinds in them are skipped.
    #[arg(short = 'f', long = "filename", value_name = "FILE|-", required = true)]
    files: Vec<String>,
    /// A metrics source by its name, and the file that says how it is asked, as for run; may be given several times.
    #[arg(
        long,
        env = "STREAMS_METRICS_SOURCE",
        value_name = "NAME=FILE",
        value_delimiter = ','
    )]
    metrics_source: Vec<String>,
    /// The Prometheus server that is asked instead of every source, without credentials; for one that is forwarded to this
    /// machine.
    #[arg(long, value_name = "URL", conflicts_with = "metrics_source")]
    url: Option<String>,
    /// What a variable stands for, as NAME=VALUE: namespace, name, revision, or canaryPods and primaryPods with names of
    /// Pods between commas; may be given several times. What is not given is looked up at the live target.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variables::parse)]
    variables: Vec<Given>,
    /// Form of the answer: for people or for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    workload_namespace: WorkloadNamespace,
}

/// How much the answer to the whole is, the worse the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// Every metric holds.
    #[default]
    Holds,
    /// A metric does not, has no data, or its query is refused; or an analysis has faults.
    No,
    /// Something could not be read, names a source that is not configured, or lacks a variable.
    Usage,
    /// A source or the API server did not answer.
    Unreachable,
}

impl Answer {
    fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Holds => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Unreachable => 4,
        })
    }
}

/// Asks. Exit code 0: every metric holds; 1: one does not, has no data or a query that is refused, or an analysis has
/// faults; 2: something could not be read, or a source or a variable is not known; 4: a source or the API server could not be
/// reached.
pub(super) fn run(args: &Args) -> ExitCode {
    if let Some(refused) = super::refuse_stdin_twice(&args.files) {
        return refused;
    }
    let input = input::read(&args.files);
    input.report_of_analyses(&args.files);
    let is_read = input.problems.is_empty() && !input.analyses.is_empty();
    let (entries, answer) = match answers(args, &input.analyses) {
        Ok(answers) => answers,
        Err(faults) => {
            for fault in faults {
                eprintln!("streaming-operator: {fault}");
            }
            return Answer::Usage.code();
        }
    };
    let answer = answer.max(if is_read { Answer::Holds } else { Answer::Usage });
    let text = match args.output {
        Output::Text => report::text(&entries),
        Output::Json => report::json(entries, answer == Answer::Holds),
    };
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    super::after_printing(printed, answer.code())
}

/// What came back for each analysis that could be asked about, and the answer to the whole; what could not is told on
/// stderr. Fails with everything for which nothing can be asked.
fn answers(args: &Args, documents: &[Document]) -> Result<(Vec<Entry>, Answer), Vec<String>> {
    let (valid, mut answer) = valid(documents);
    let sources = sources(args, &valid)?;
    let mut variables = Resolver::new(&args.variables, args.workload_namespace.get());
    let mut resolved = Vec::new();
    for (document, analysis) in &valid {
        match variables.resolve(document.object_namespace(), analysis) {
            Ok(queries) => resolved.push((*document, analysis, queries)),
            Err(Unresolved { why, is_outage }) => {
                let Document { place, .. } = document;
                eprintln!("{}:{}: {}: {why}", place.file, place.line, document.name());
                answer = answer.max(if is_outage { Answer::Unreachable } else { Answer::Usage });
            }
        }
    }
    let asked = ask(&sources, &resolved).map_err(|error| vec![format!("cannot start its threads: {error}")])?;
    let entries: Vec<Entry> = resolved
        .iter()
        .zip(asked)
        .map(|((document, analysis, queries), asked)| {
            Entry::new(document, analysis, &queries.namespace, queries.revision.clone(), asked)
        })
        .collect();
    let metrics = entries.iter().flat_map(|entry| &entry.metrics);
    let answer = metrics.map(answer_of).fold(answer, Ord::max);
    Ok((entries, answer))
}

fn answer_of(metric: &MetricEntry) -> Answer {
    match &metric.failure {
        Some(QueryError::Unavailable(_)) => Answer::Unreachable,
        Some(QueryError::UnknownSource(_)) => Answer::Usage,
        None if metric.holds == Some(true) => Answer::Holds,
        Some(QueryError::Rejected(_)) | None => Answer::No,
    }
}

/// The analyses without faults; the faults of others are told.
fn valid(documents: &[Document]) -> (Vec<(&Document, ValidAnalysis)>, Answer) {
    let (mut valid, mut answer) = (Vec::new(), Answer::Holds);
    for document in documents {
        let faults = match document.spec::<RolloutAnalysisSpec>() {
            Ok(spec) => match ValidAnalysis::parse(&spec) {
                Ok(analysis) => {
                    valid.push((document, analysis));
                    continue;
                }
                Err(violations) => violations
                    .into_iter()
                    .map(|violation| (violation.path, violation.message))
                    .collect(),
            },
            Err(fault) => vec![fault],
        };
        answer = Answer::No;
        for (path, message) in faults {
            let line = document.line_of(&path);
            eprintln!("{}:{line}: {}: {path}: {message}", document.place.file, document.name());
        }
    }
    (valid, answer)
}

/// The sources that are asked.
fn sources(args: &Args, analyses: &[(&Document, ValidAnalysis)]) -> Result<Sources, Vec<String>> {
    let settings = match &args.url {
        None => file::read(&args.metrics_source).map_err(|faults| {
            faults
                .iter()
                .map(|fault| format!("--metrics-source {fault}"))
                .collect::<Vec<_>>()
        })?,
        Some(url) => {
            let metrics = analyses.iter().flat_map(|(_, analysis)| &analysis.metrics);
            let names: BTreeSet<&str> = metrics.map(|metric| metric.source.as_str()).collect();
            let settings = names.into_iter().map(|name| SourceSettings::at(name, url));
            settings
                .collect::<Result<_, _>>()
                .map_err(|fault| vec![format!("--url {fault}")])?
        }
    };
    let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), env!("STREAMING_OPERATOR_COMMIT"), false);
    Sources::new(settings, metrics)
}

/// Asks for all metrics of all analyses at once, as far as the sources let it; the answers in the order of the specs.
fn ask(
    sources: &Sources,
    analyses: &[(&Document, &ValidAnalysis, variables::Queries)],
) -> std::io::Result<Vec<Vec<Asked>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = analyses.iter().map(|(_, analysis, queries)| {
        let metrics = analysis.metrics.iter().zip(&queries.of_metrics);
        join_all(metrics.map(async |(metric, query)| Asked {
            query: query.clone(),
            answer: sources.query(&metric.source, query, DEADLINE).await,
        }))
    });
    Ok(runtime.block_on(join_all(asked)))
}
