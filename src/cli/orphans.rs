//! `streaming-operator orphans`: which Pods and ConfigMaps belong to no pipeline any more, and their removal by hand where
//! the operator's own sweep leaves it to a person. Must never remove what it could not ask about.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use kube::Client;
use serde::{Serialize, Serializer};

use super::Output;
use super::after_printing;
use super::namespace::WorkloadNamespace;
use super::server::Server;
use crate::client::in_words;
use crate::controller::orphans::{Place, list, look, remove};
use crate::core::orphans::{Finding, Managed, ManagedKind, is_too_much, judge};
use crate::core::words::counted;

/// What to look at, and whether to remove it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Removes the orphans, each by its uid. Nothing asks again: look at the list first.
    #[arg(long)]
    delete: bool,
    /// Form of the answer: for people or for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// As the operator runs with: namespaces whose pipelines it looks after; all without it.
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "STREAMS_WATCH_NAMESPACE",
        value_delimiter = ','
    )]
    watch_namespace: Vec<String>,
    #[command(flatten)]
    workload_namespace: WorkloadNamespace,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Pods with our label.
    managed_pods: usize,
    /// Whether the operator's own sweep removes the orphans after its grace; else they are too many.
    swept: bool,
    objects: Vec<Entry>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    kind: &'static str,
    namespace: String,
    name: String,
    uid: String,
    #[serde(serialize_with = "by_name")]
    finding: Finding,
    message: String,
    /// What came of `--delete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<bool>,
    #[serde(skip)]
    object: Managed,
}

/// Lists, and removes. Exit code 0: there are no orphans, or all were removed; 1: there are; 4: the API server cannot be
/// reached, or may not be asked about an object or a removal.
pub(super) fn run(args: &Args) -> ExitCode {
    let server = Server::connect();
    let (runtime, client) = match server.or_told() {
        Ok(connection) => connection,
        Err(code) => return code,
    };
    let place = Place {
        watch_namespaces: args
            .watch_namespace
            .iter()
            .filter(|name| !name.is_empty())
            .cloned()
            .collect(),
        workload_namespace: args.workload_namespace.get().map(str::to_owned),
    };
    let (report, code) = match runtime.block_on(answer(client, &place, args.delete)) {
        Ok(answered) => answered,
        Err(error) => {
            eprintln!(
                "streaming-operator: Pods and ConfigMaps cannot be listed: {}",
                in_words(&error)
            );
            return ExitCode::from(4);
        }
    };
    let text = match args.output {
        Output::Text => text(&report),
        Output::Json => serde_json::to_string_pretty(&report).unwrap_or_default() + "\n",
    };
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    after_printing(printed, ExitCode::from(code))
}

async fn answer(client: &Client, place: &Place, delete: bool) -> Result<(Report, u8), kube::Error> {
    let objects = list(client, place).await?;
    let facts = look(client, place, &objects).await;
    let managed_pods = objects.iter().filter(|object| object.kind == ManagedKind::Pod).count();
    let entries = objects.into_iter().filter_map(|object| {
        let finding = judge(&object, &facts);
        (finding != Finding::Owned).then(|| Entry::new(object, finding))
    });
    let mut entries: Vec<Entry> = entries.collect();
    entries.sort_by(|a, b| (a.finding.as_str(), &a.object).cmp(&(b.finding.as_str(), &b.object)));
    let orphans: Vec<Managed> = orphans(&entries).cloned().collect();
    let mut refused = entries.iter().any(|entry| matches!(entry.finding, Finding::Unknown(_)));
    if delete {
        for entry in entries.iter_mut().filter(|entry| entry.finding == Finding::Orphan) {
            match remove(client, &entry.object).await {
                Ok(_) => entry.removed = Some(true),
                Err(error) => {
                    refused = true;
                    entry.removed = Some(false);
                    entry.message = format!("{}; it cannot be removed: {}", entry.message, in_words(&error));
                }
            }
        }
    }
    let code = match (refused, delete || orphans.is_empty()) {
        (true, _) => 4,
        (false, true) => 0,
        (false, false) => 1,
    };
    let report = Report {
        managed_pods,
        swept: !is_too_much(&orphans, managed_pods),
        objects: entries,
    };
    Ok((report, code))
}

fn by_name<S: Serializer>(finding: &Finding, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(finding.as_str())
}

impl Entry {
    fn new(object: Managed, finding: Finding) -> Self {
        Self {
            kind: object.kind.as_str(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: object.uid.clone(),
            message: finding.in_words(&object),
            finding,
            removed: None,
            object,
        }
    }

    fn is_left(&self) -> bool {
        self.finding == Finding::Orphan && self.removed != Some(true)
    }
}

fn orphans(entries: &[Entry]) -> impl Iterator<Item = &Managed> {
    let orphans = entries.iter().filter(|entry| entry.finding == Finding::Orphan);
    orphans.map(|entry| &entry.object)
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for entry in &report.objects {
        let word = match entry.removed {
            Some(true) => "removed",
            Some(false) | None => entry.finding.as_str(),
        };
        // A String takes every write.
        let _ = writeln!(text, "{word}: {}: {}", entry.object.in_words(), entry.message);
    }
    let (left, pods) = (
        report.objects.iter().filter(|entry| entry.is_left()),
        report.managed_pods,
    );
    let left: BTreeSet<&Managed> = left.map(|entry| &entry.object).collect();
    let _ = match (left.len(), report.swept) {
        (0, _) => writeln!(text, "no orphans among {} of ours", counted(pods, "Pod")),
        (left, true) => writeln!(
            text,
            "{}; removed by the operator after --orphan-grace",
            counted(left, "orphan")
        ),
        (left, false) => writeln!(
            text,
            "{}: more Pods than the operator removes by itself (10, and a tenth of {pods}); --delete removes them",
            counted(left, "orphan")
        ),
    };
    text
}
