//! The commands about one pipeline, which are the kubectl plugin `kubectl-streams` too: looking at a rollout, and telling it
//! what to do. Each that changes something prints the same as a kubectl command. Must never do what kubectl could not.

mod orders;
mod past;
mod show;

use std::process::ExitCode;

use clap::Subcommand;
use kube::{Api, Client};
use tokio::runtime::Runtime;

use super::server::Server;
use crate::api::StoredPipeline;
use crate::client::in_words;

/// What to do with a pipeline.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Waits for the end of a rollout: 0 done, 1 failed (at once), 3 paused, 124 not in time.
    Status(show::StatusArgs),
    /// Shows a pipeline, its workload sets and Pods, and why a Pod is not as it should be.
    Get(show::GetArgs),
    /// Holds the rollout; healing and scaling go on.
    Pause(orders::Args),
    /// Goes on with a paused rollout, and lets a failed revision try again.
    Resume(orders::Args),
    /// Opens the gate between the canary and the other Pods, for the revision of the spec.
    Promote(orders::Args),
    /// Sends the revision of the spec back to the one that last completed.
    Abort(orders::Args),
    /// Replaces every Pod, within the budget, without a new revision.
    Restart(orders::Args),
    /// Lists the stored revisions.
    History(past::HistoryArgs),
    /// Brings the spec of an earlier revision back; what is no part of a revision (replicas, rollout, ...) stays.
    Undo(past::UndoArgs),
}

/// Runs a command. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 paused, 4 the API server cannot be reached or refuses,
/// 124 not in time.
pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Status(args) => show::status(args),
        Command::Get(args) => show::get(args),
        Command::Pause(args) => orders::run(orders::Order::Pause, args),
        Command::Resume(args) => orders::run(orders::Order::Resume, args),
        Command::Promote(args) => orders::run(orders::Order::Promote, args),
        Command::Abort(args) => orders::run(orders::Order::Abort, args),
        Command::Restart(args) => orders::run(orders::Order::Restart, args),
        Command::History(args) => past::history(args),
        Command::Undo(args) => past::undo(args),
    }
}

/// Which pipeline.
#[derive(Debug, clap::Args)]
struct Which {
    /// The pipeline: NAME, or spipe/NAME.
    #[arg(value_name = "NAME")]
    name: String,
    /// Its namespace. Without it: the kubeconfig's.
    #[arg(short, long, value_name = "NAMESPACE", value_parser = super::namespace::namespace)]
    namespace: Option<String>,
}

/// The API server, and the pipeline's place.
struct At<'a> {
    runtime: &'a Runtime,
    client: &'a Client,
    namespace: String,
    name: &'a str,
}

impl<'a> At<'a> {
    /// Fails with the exit code, after a word on stderr.
    fn new(server: &'a Server, which: &'a Which) -> Result<Self, ExitCode> {
        let (runtime, client) = server.or_told()?;
        Ok(Self {
            runtime,
            client,
            namespace: which.namespace.clone().unwrap_or_else(|| server.namespace.clone()),
            name: which.name.rsplit('/').next().unwrap_or_default(),
        })
    }

    fn api(&self) -> Api<StoredPipeline> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The pipeline as it is now. Fails as [`At::new`] does; 1 when it is not there.
    fn read(&self) -> Result<StoredPipeline, ExitCode> {
        match self.runtime.block_on(self.api().get_opt(self.name)) {
            Ok(Some(pipeline)) => Ok(pipeline),
            Ok(None) => Err(no(&format!(
                "there is no pipeline {} in namespace {}",
                self.name, self.namespace
            ))),
            Err(error) => Err(refused(&error)),
        }
    }

    /// `kubectl --namespace NS VERB`.
    fn kubectl(&self, rest: &str) -> String {
        format!("kubectl --namespace {} {rest}", self.namespace)
    }
}

fn refused(error: &kube::Error) -> ExitCode {
    eprintln!("streaming-operator: {}", in_words(error));
    ExitCode::from(4)
}

fn no(why: &str) -> ExitCode {
    eprintln!("streaming-operator: {why}");
    ExitCode::from(1)
}

/// Text for a POSIX shell that stands for itself.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_quote_does_not_end_a_quoted_text() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
