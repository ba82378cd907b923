//! `status` and `get`: where a rollout stands, once or until it ends. Must never write.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::select;
use jiff::fmt::friendly::SpanParser;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use tokio::time::timeout;

use super::{At, Which, no, refused};
use crate::api::StoredPipeline;
use crate::api::meta::{LABEL_OWNER_UID, LABEL_REVISION, LABEL_WORKLOAD_SET};
use crate::cli::after_printing;
use crate::cli::server::Server;
use crate::core::outlook::{Outlook, outlook};
use crate::core::tree::{Leaf, tree};

/// Which rollout, and how long to wait.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct StatusArgs {
    #[command(flatten)]
    which: Which,
    /// Whether to wait for the end; without it a rollout that is under way is one that is not done in time.
    #[arg(short, long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    watch: bool,
    /// How long to wait at most, such as 90s or 10m. Without it: for ever.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
}

/// What to show.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct GetArgs {
    #[command(flatten)]
    which: Which,
    /// Shows it again whenever it changes, until interrupted.
    #[arg(short, long)]
    watch: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    static PARSER: SpanParser = SpanParser::new();
    PARSER.parse_unsigned_duration(text).map_err(|error| error.to_string())
}

/// Waits for the end of the rollout. Exit code 0: done; 1: failed, or no such pipeline; 3: paused; 4: refused; 124: not in
/// time.
pub(super) fn status(args: &StatusArgs) -> ExitCode {
    let server = Server::connect();
    let at = match At::new(&server, &args.which) {
        Ok(at) => at,
        Err(code) => return code,
    };
    let mut told = String::new();
    let first = match at.read() {
        Ok(pipeline) => tell(&pipeline, &mut told),
        Err(code) => return code,
    };
    match first {
        Some(code) => return code,
        None if !args.watch => return ExitCode::from(NOT_IN_TIME),
        None => {}
    }
    at.runtime.block_on(async {
        let ended = until_ended(&at, told);
        match args.timeout {
            None => ended.await,
            Some(limit) => timeout(limit, ended).await.unwrap_or_else(|_| {
                eprintln!("streaming-operator: not done within {limit:?}");
                ExitCode::from(NOT_IN_TIME)
            }),
        }
    })
}

/// As coreutils' `timeout` has it.
const NOT_IN_TIME: u8 = 124;

/// Prints where it stands, when that is new; gives the exit code when it has ended.
fn tell(pipeline: &StoredPipeline, told: &mut String) -> Option<ExitCode> {
    let (outlook, words) = outlook(pipeline);
    let (word, code) = match outlook {
        Outlook::Done => ("done", Some(ExitCode::SUCCESS)),
        Outlook::UnderWay => ("under way", None),
        Outlook::Paused => ("paused", Some(ExitCode::from(3))),
        Outlook::Failed => ("failed", Some(ExitCode::from(1))),
    };
    let line = format!("{word}: {words}");
    if line != *told {
        println!("{line}");
        *told = line;
    }
    code
}

async fn until_ended(at: &At<'_>, mut told: String) -> ExitCode {
    let only = watcher::Config::default().fields(&format!("metadata.name={}", at.name));
    let mut events = std::pin::pin!(watcher(at.api(), only).default_backoff());
    let mut listed = false;
    while let Some(event) = events.next().await {
        let pipeline = match event {
            Ok(watcher::Event::Init) => {
                listed = false;
                continue;
            }
            Ok(watcher::Event::InitApply(pipeline)) => {
                listed = true;
                pipeline
            }
            Ok(watcher::Event::Apply(pipeline)) => pipeline,
            Ok(watcher::Event::InitDone) if listed => continue,
            Ok(watcher::Event::InitDone | watcher::Event::Delete(_)) => return no("the pipeline was deleted"),
            // It is tried again with back-off.
            Err(error) => {
                eprintln!("streaming-operator: the pipeline cannot be watched: {error}; tries again");
                continue;
            }
        };
        if let Some(code) = tell(&pipeline, &mut told) {
            return code;
        }
    }
    ExitCode::from(4)
}

/// Shows the tree. Exit code 0; 1: no such pipeline; 4: refused.
pub(super) fn get(args: &GetArgs) -> ExitCode {
    let server = Server::connect();
    let at = match At::new(&server, &args.which) {
        Ok(at) => at,
        Err(code) => return code,
    };
    let shown = at.read().and_then(|pipeline| {
        let text = at
            .runtime
            .block_on(drawn(&at, &pipeline))
            .map_err(|error| refused(&error))?;
        Ok((pipeline, text))
    });
    let (pipeline, text) = match shown {
        Ok(shown) => shown,
        Err(code) => return code,
    };
    match print(&text) {
        Ok(()) if args.watch => at.runtime.block_on(follow(&at, &pipeline, text)),
        printed => after_printing(printed, ExitCode::SUCCESS),
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Draws it again at every change of the pipeline or of a Pod of it.
async fn follow(at: &At<'_>, pipeline: &StoredPipeline, mut shown: String) -> ExitCode {
    let only = watcher::Config::default().fields(&format!("metadata.name={}", at.name));
    let owned = watcher::Config::default().labels(&owned(pipeline));
    let pods: Api<Pod> = Api::namespaced(at.client.clone(), workload_namespace(at, pipeline));
    let changes = select(
        watcher(at.api(), only).default_backoff().map(|event| event.map(drop)),
        watcher(pods, owned).default_backoff().map(|event| event.map(drop)),
    );
    let mut changes = std::pin::pin!(changes);
    while let Some(change) = changes.next().await {
        if let Err(error) = change {
            eprintln!("streaming-operator: cannot be watched: {error}; tries again");
            continue;
        }
        let text = match at.api().get_opt(at.name).await {
            Ok(Some(pipeline)) => drawn(at, &pipeline).await,
            Ok(None) => return no("the pipeline was deleted"),
            Err(error) => Err(error),
        };
        match text {
            Ok(text) if text != shown => {
                if let Err(error) = print(&format!("\n{text}")) {
                    return after_printing(Err(error), ExitCode::SUCCESS);
                }
                shown = text;
            }
            Ok(_) => {}
            Err(error) => return refused(&error),
        }
    }
    ExitCode::SUCCESS
}

fn owned(pipeline: &StoredPipeline) -> String {
    format!("{LABEL_OWNER_UID}={}", pipeline.uid().unwrap_or_default())
}

fn workload_namespace<'a>(at: &'a At<'_>, pipeline: &'a StoredPipeline) -> &'a str {
    pipeline.status.workload_namespace.as_deref().unwrap_or(&at.namespace)
}

async fn drawn(at: &At<'_>, pipeline: &StoredPipeline) -> Result<String, kube::Error> {
    let api: Api<Pod> = Api::namespaced(at.client.clone(), workload_namespace(at, pipeline));
    let pods = api.list(&ListParams::default().labels(&owned(pipeline))).await?;
    let leaves: Vec<Leaf> = pods.items.iter().map(leaf).collect();
    Ok(tree(pipeline, &leaves))
}

fn leaf(pod: &Pod) -> Leaf {
    let label = |name: &str| pod.labels().get(name).cloned().unwrap_or_default();
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    Leaf {
        set: label(LABEL_WORKLOAD_SET),
        name: pod.name_any(),
        revision: label(LABEL_REVISION),
        phase: status.and_then(|status| status.phase.clone()).unwrap_or_default(),
        ready: conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True"),
        terminating: pod.metadata.deletion_timestamp.is_some(),
    }
}
