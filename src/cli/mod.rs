//! The command line: one variant a subcommand, one file each. Must never hold product logic: a subcommand parses its
//! arguments, calls the module that owns the work, prints, and gives an exit code.

mod check;
mod crd;
mod dry_run;
mod input;
mod installed;
mod judge;
mod namespace;
mod orphans;
mod pipeline;
mod plan;
mod query;
mod reasons;
mod release;
mod render;
mod rules;
mod run;
mod server;
mod validate;
mod webhook_config;
mod yaml;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use serde::Serialize;

/// Form of an answer: for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Version, commit, and the Kubernetes API that the operator's types are of.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("STREAMING_OPERATOR_COMMIT"),
    ", Kubernetes API v1.33 or later)"
);

/// Runs Sentry Streams consumers on Kubernetes as Pods it manages itself, with an admission webhook beside it.
#[derive(Debug, Parser)]
#[command(name = "streaming-operator", version = VERSION, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the operator until SIGTERM or SIGINT.
    Run(Box<run::RunArgs>),
    /// Prints the CustomResourceDefinitions as YAML.
    Crd(crd::Args),
    /// Prints the webhook configurations as YAML.
    WebhookConfig(webhook_config::WebhookConfigArgs),
    /// Prints the rules of validation as Markdown.
    Rules,
    /// Prints what would be created for pipelines in files, without a cluster.
    Render(render::Args),
    /// Says whether pipelines and analyses in files are valid, as the webhook would; without a cluster, unless --server is given.
    Validate(validate::Args),
    /// Says which Pods an edit of pipelines in files replaces, in which order, without a cluster.
    Plan(plan::Args),
    /// Says whether the installed operator works: rights, CRDs, webhook, certificate, leader, versions.
    Check(check::Args),
    /// Asks the queries of analyses in files once, and shows what comes back against their limits.
    Query(query::Args),
    /// Lists Pods and ConfigMaps whose pipeline is gone, and removes them.
    Orphans(orphans::Args),
    /// Takes the operator's finalizers off pipelines before it is uninstalled; their Pods stay.
    Release(release::Args),
    /// Prints what each reason in a status or an Event means and what to do about it, as Markdown.
    Reasons,
    #[command(flatten)]
    Pipeline(pipeline::Command),
}

/// Looks at rollouts of StreamingPipelines, and tells them what to do.
#[derive(Debug, Parser)]
#[command(name = PLUGIN, bin_name = "kubectl streams", version = VERSION, max_term_width = 100)]
struct Plugin {
    #[command(subcommand)]
    command: pipeline::Command,
}

/// The name under which kubectl finds the program as its plugin.
const PLUGIN: &str = "kubectl-streams";

/// Whether kubectl called, or somebody by the plugin's name.
fn is_plugin() -> bool {
    let called = std::env::args_os().next();
    let called = called.as_ref().and_then(|called| Path::new(called).file_stem());
    called.is_some_and(|called| called == PLUGIN)
}

/// Does what the command line asks for and gives the exit code: 0 done, 1 the answer is no, 2 usage or unreadable
/// input, 4 the API server cannot be reached or may not be asked; `run` has more.
#[must_use]
pub fn main() -> ExitCode {
    if is_plugin() {
        return pipeline::run(&Plugin::parse().command);
    }
    match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Crd(args) => crd::run(&args),
        Command::WebhookConfig(args) => webhook_config::run(args),
        Command::Rules => rules::run(),
        Command::Render(args) => render::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Orphans(args) => orphans::run(&args),
        Command::Release(args) => release::run(&args),
        Command::Reasons => reasons::run(),
        Command::Pipeline(command) => pipeline::run(&command),
    }
}

/// Exit code 2, with a word on stderr, when stdin is named twice among the paths: it can be read only once.
fn refuse_stdin_twice<'a>(paths: impl IntoIterator<Item = &'a String>) -> Option<ExitCode> {
    let is_twice = input::stdin_is_named_twice(paths);
    is_twice.then(|| {
        eprintln!("streaming-operator: - is named twice, and stdin can be read only once: put one of them into a file");
        ExitCode::from(2)
    })
}

/// The exit code after printing: `code`, or 2 with a word on stderr when stdout could not be written. A reader that
/// closed its end has seen enough.
fn after_printing(printed: io::Result<()>, code: ExitCode) -> ExitCode {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("streaming-operator: the output cannot be written: {error}");
            ExitCode::from(2)
        }
        _ => code,
    }
}

/// Prints objects as YAML documents to stdout.
///
/// A closed pipe is no fault of ours; output that cannot be written is, and gives exit code 2.
fn print_documents<'a, T: Serialize + 'a>(objects: impl Iterator<Item = &'a T>) -> ExitCode {
    let mut out = io::stdout().lock();
    let mut print = |object| {
        let text = yaml::to_yaml(object).map_err(io::Error::other)?;
        write!(out, "---\n{text}")
    };
    let printed = objects.into_iter().try_for_each(&mut print);
    after_printing(printed.and_then(|()| io::stdout().flush()), ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, Plugin};

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
        Plugin::command().debug_assert();
    }
}
