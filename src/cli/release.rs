//! `streaming-operator release`: takes our finalizers off pipelines before the operator is uninstalled for good, so that
//! they can be deleted without it. Must never stop or delete a Pod.

use std::io::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;
use kube::Client;

use super::after_printing;
use super::installed::{Found, Place};
use super::run::settings_of;
use super::server::{Server, unasked};
use crate::api::meta::LABEL_OWNER_UID;
use crate::client::in_words;
use crate::controller::release::{Held, held, holder, let_go};
use crate::operator::NAME;

/// Which pipelines, and whether to ask first.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
    /// Namespace whose pipelines are released; may be given several times. Without it: those that the operator's
    /// Deployment watches, else all.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',', value_parser = super::namespace::namespace)]
    watch_namespace: Vec<String>,
    /// Only says what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Also while an operator holds the Lease. It puts the finalizers back.
    #[arg(long)]
    force: bool,
}

/// Releases. Exit code 0: no pipeline has the finalizer any more, or this was a dry run; 1: an operator runs; 2: several
/// operators are there and none is named; 4: the API server cannot be reached, or refused a part.
pub(super) fn run(args: &Args) -> ExitCode {
    let server = Server::connect();
    let (runtime, client) = match server.or_told() {
        Ok(connection) => connection,
        Err(code) => return code,
    };
    let (namespace, watched) = match args.place.find(runtime, client) {
        Found::Several(all) => {
            eprintln!(
                "streaming-operator: there are several operators, {}: choose one with --namespace",
                all.join(", ")
            );
            return ExitCode::from(2);
        }
        Found::One(one) => {
            let settings = settings_of(&one.flags);
            (
                one.namespace,
                settings.map(|settings| settings.watch_namespaces).unwrap_or_default(),
            )
        }
        // It may be uninstalled already: then there is no Deployment, and nobody who holds the Lease.
        Found::None(_) | Found::Unasked(_) => (args.place.namespace(&server), Vec::new()),
    };
    let watched = if args.watch_namespace.is_empty() {
        watched
    } else {
        args.watch_namespace.clone()
    };
    match runtime.block_on(holder(client, &namespace, NAME, Timestamp::now())) {
        Ok(Some(holder)) if !args.force && !args.dry_run => {
            eprintln!(
                "streaming-operator: {holder} holds the Lease {namespace}/{NAME}: the operator runs, and would put the \
                 finalizers back. Stop it first (kubectl --namespace {namespace} scale deployment --selector \
                 app.kubernetes.io/name={NAME} --replicas=0), or use --force"
            );
            return ExitCode::from(1);
        }
        Ok(_) => {}
        Err(error) => return unasked(&format!("who holds the Lease {namespace}/{NAME}: {}", in_words(&error))),
    }
    match runtime.block_on(held(client, &watched)) {
        Ok(held) => release(args, client, runtime, &held),
        Err(error) => unasked(&format!("which pipelines there are: {}", in_words(&error))),
    }
}

fn release(args: &Args, client: &Client, runtime: &tokio::runtime::Runtime, held: &[Held]) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut left = 0;
    for pipeline in held {
        let done = if args.dry_run {
            Ok(())
        } else {
            runtime.block_on(let_go(client, pipeline))
        };
        let text = match done {
            Ok(()) => told(pipeline, args.dry_run),
            Err(error) => {
                left += 1;
                format!(
                    "{}/{}: not released: {}\n",
                    pipeline.namespace,
                    pipeline.name,
                    in_words(&error)
                )
            }
        };
        if let Err(error) = out.write_all(text.as_bytes()) {
            return after_printing(Err(error), ExitCode::from(4));
        }
    }
    let word = if args.dry_run { "would be released" } else { "released" };
    let summary = format!("{} pipelines {word}, {left} refused\n", held.len() - left);
    let printed = out.write_all(summary.as_bytes()).and_then(|()| out.flush());
    after_printing(printed, ExitCode::from(if left == 0 { 0 } else { 4 }))
}

/// What was done to a pipeline, and the same with kubectl.
fn told(pipeline: &Held, dry_run: bool) -> String {
    let Held {
        namespace,
        name,
        uid,
        others,
        is_deleted,
        ..
    } = pipeline;
    let done = if dry_run { "would be released" } else { "released" };
    let what = if *is_deleted && others.is_empty() {
        "; it is being deleted and goes now, its Pods stay"
    } else {
        "; its Pods stay"
    };
    let others: Vec<String> = others.iter().map(|finalizer| format!("\"{finalizer}\"")).collect();
    format!(
        "{namespace}/{name}: {done}{what} (label {LABEL_OWNER_UID}={uid})\n  kubectl --namespace {namespace} patch \
         streamingpipeline {name} --type=merge --patch '{{\"metadata\":{{\"finalizers\":[{}]}}}}'\n",
        others.join(",")
    )
}
