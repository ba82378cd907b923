//! `history` and `undo`: the stored revisions of a pipeline, and the way back to one of them. Must never write a revision.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use super::{At, Which, no, quoted, refused};
use crate::api::StoredPipeline;
use crate::api::meta::{ANNOTATION_COMPLETED_AT, LABEL_OWNER_UID, LABEL_REVISION};
use crate::cli::after_printing;
use crate::cli::server::Server;
use crate::core::undo::{Past, patch, target};

/// Which pipeline.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HistoryArgs {
    #[command(flatten)]
    which: Which,
}

/// Which pipeline, and to what.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct UndoArgs {
    #[command(flatten)]
    which: Which,
    /// The revision, as `history` lists it. Without it: the one that completed last of those that are not the spec's.
    #[arg(long, value_name = "REVISION")]
    to_revision: Option<String>,
    /// Only prints the kubectl command.
    #[arg(long)]
    dry_run: bool,
}

/// A stored revision, with the spec as it was.
struct Stored {
    past: Past,
    spec: Value,
}

/// Lists the revisions, the newest last. Exit code 0; 1: no such pipeline; 4: refused.
pub(super) fn history(args: &HistoryArgs) -> ExitCode {
    let server = Server::connect();
    list(args, &server).unwrap_or_else(|code| code)
}

/// Writes the spec of an earlier revision. Exit code 0: done; 1: there is none; 4: refused.
pub(super) fn undo(args: &UndoArgs) -> ExitCode {
    let server = Server::connect();
    go_back(args, &server).unwrap_or_else(|code| code)
}

fn list(args: &HistoryArgs, server: &Server) -> Result<ExitCode, ExitCode> {
    let at = At::new(server, &args.which)?;
    let pipeline = at.read()?;
    let stored = stored(&at, &pipeline)?;
    let mut text = format!(
        "{:<12} {:<22} {:<22} {:<9} IMAGE\n",
        "REVISION", "CREATED", "COMPLETED", ""
    );
    for one in &stored {
        let past = &one.past;
        let is = |revision: &Option<String>| revision.as_deref() == Some(past.revision.as_str());
        let mark = match (
            is(&pipeline.status.current_revision),
            is(&pipeline.status.update_revision),
        ) {
            (true, _) => "current",
            (false, true) => "update",
            (false, false) => "",
        };
        let completed = past.completed.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let image = one.spec.get("image_name").and_then(Value::as_str).unwrap_or_default();
        let (name, created) = (&past.revision, past.created.to_string());
        // A String takes every write.
        let _ = writeln!(text, "{name:<12} {created:<22} {completed:<22} {mark:<9} {image}");
    }
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(after_printing(printed, ExitCode::SUCCESS))
}

fn go_back(args: &UndoArgs, server: &Server) -> Result<ExitCode, ExitCode> {
    let at = At::new(server, &args.which)?;
    let pipeline = at.read()?;
    let stored = stored(&at, &pipeline)?;
    let update = pipeline.status.update_revision.as_deref();
    let all: Vec<Past> = stored.iter().map(|one| one.past.clone()).collect();
    let wanted = match &args.to_revision {
        Some(revision) => Some(revision.as_str()),
        None => target(&all, update).map(|past| past.revision.as_str()),
    };
    let wanted = wanted.ok_or_else(|| no("no other revision has completed: there is none to go back to"))?;
    let found = stored.iter().find(|one| one.past.revision == wanted);
    let found = found.ok_or_else(|| {
        no(&format!(
            "there is no revision {wanted}: `history` lists those that there are"
        ))
    })?;
    let patch = patch(&found.spec, &pipeline.uid().unwrap_or_default());
    let text = quoted(&patch.to_string());
    println!(
        "{}",
        at.kubectl(&format!(
            "patch streamingpipeline {} --type=json --patch {text}",
            at.name
        ))
    );
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let patch: json_patch::Patch = serde_json::from_value(patch).map_err(|error| no(&error.to_string()))?;
    let api = at.api();
    let (params, patch) = (PatchParams::default(), Patch::Json::<Value>(patch));
    let patched = api.patch(at.name, &params, &patch);
    at.runtime.block_on(patched).map_err(|error| refused(&error))?;
    eprintln!("goes back to revision {wanted}; bring your manifests in line, or the next apply rolls out again");
    Ok(ExitCode::SUCCESS)
}

/// The revisions of the pipeline, the oldest first.
fn stored(at: &At<'_>, pipeline: &StoredPipeline) -> Result<Vec<Stored>, ExitCode> {
    let api = Api::<ControllerRevision>::namespaced(at.client.clone(), &at.namespace);
    let owned = format!("{LABEL_OWNER_UID}={}", pipeline.uid().unwrap_or_default());
    let list = at.runtime.block_on(api.list(&ListParams::default().labels(&owned)));
    let list = list.map_err(|error| refused(&error))?;
    let mut stored: Vec<Stored> = list.items.iter().filter_map(read).collect();
    stored.sort_by(|a, b| (a.past.created, &a.past.revision).cmp(&(b.past.created, &b.past.revision)));
    Ok(stored)
}

/// `None` for one that is none of the operator's.
fn read(object: &ControllerRevision) -> Option<Stored> {
    let completed = object.annotations().get(ANNOTATION_COMPLETED_AT);
    Some(Stored {
        past: Past {
            revision: object.labels().get(LABEL_REVISION)?.clone(),
            created: object.creation_timestamp()?.0,
            completed: completed.and_then(|at| at.parse::<Timestamp>().ok()),
        },
        spec: object.data.as_ref()?.0.get("spec")?.clone(),
    })
}
