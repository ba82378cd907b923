//! `pause`, `resume`, `promote`, `abort`, `restart`: one merge patch each. Must never give an order for another revision
//! than the one that was looked at.

use std::process::ExitCode;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{At, Which, no, quoted, refused};
use crate::api::StreamingPipelineStatus;
use crate::api::meta::{ANNOTATION_ABORT, ANNOTATION_PROMOTE, ANNOTATION_RESUME};
use crate::cli::server::Server;

/// Which pipeline, and whether only to say what would be done.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    which: Which,
    /// Only prints the kubectl command.
    #[arg(long)]
    dry_run: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Pause,
    Resume,
    Promote,
    Abort,
    Restart,
}

/// Gives the order and prints it as a kubectl command. Exit code 0: given; 1: it would do nothing, with why; 4: refused.
pub(super) fn run(order: Order, args: &Args) -> ExitCode {
    let server = Server::connect();
    give(order, args, &server).unwrap_or_else(|code| code)
}

fn give(order: Order, args: &Args, server: &Server) -> Result<ExitCode, ExitCode> {
    let at = At::new(server, &args.which)?;
    let pipeline = at.read()?;
    let patch = patch(order, &pipeline.status, Timestamp::now()).map_err(|why| no(&why))?;
    let text = quoted(&patch.to_string());
    println!(
        "{}",
        at.kubectl(&format!(
            "patch streamingpipeline {} --type=merge --patch {text}",
            at.name
        ))
    );
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let api = at.api();
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    let patched = api.patch(at.name, &params, &patch);
    at.runtime.block_on(patched).map_err(|error| refused(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// The merge patch (RFC 7386) that gives the order, or why it would do nothing.
fn patch(order: Order, status: &StreamingPipelineStatus, now: Timestamp) -> Result<Value, String> {
    let update = status.update_revision.as_deref();
    let update = update.ok_or("the operator has not looked at this pipeline yet: there is no revision".to_owned());
    let failed = status
        .rollout
        .as_ref()
        .and_then(|rollout| rollout.failed_revision.as_ref());
    let annotated = |name: &str, value: String| json!({"metadata": {"annotations": {name: value}}});
    // Whole seconds: what people read and write.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    Ok(match order {
        Order::Pause => json!({"spec": {"rollout": {"paused": true}}}),
        Order::Resume => {
            let mut patch = json!({"spec": {"rollout": {"paused": false}}});
            if let (Some(failed), Ok(update)) = (failed, &update)
                && failed.name == *update
            {
                let order = annotated(ANNOTATION_RESUME, format!("{update}@{now}"));
                json_patch::merge(&mut patch, &order);
            }
            patch
        }
        Order::Promote => annotated(ANNOTATION_PROMOTE, update?.to_owned()),
        Order::Abort if status.current_revision.is_none() => {
            return Err("no revision has completed yet: there is none to go back to".to_owned());
        }
        Order::Abort if status.current_revision.as_deref() == status.update_revision.as_deref() => {
            return Err("the revision of the spec has completed: `undo` goes back to an earlier one".to_owned());
        }
        Order::Abort => annotated(ANNOTATION_ABORT, update?.to_owned()),
        Order::Restart => json!({"spec": {"rollout": {"restartAt": now.to_string()}}}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::status::{FailedRevision, RolloutStatus};

    fn status(current: Option<&str>, update: Option<&str>, failed: Option<&str>) -> StreamingPipelineStatus {
        StreamingPipelineStatus {
            current_revision: current.map(str::to_owned),
            update_revision: update.map(str::to_owned),
            rollout: Some(RolloutStatus {
                failed_revision: failed.map(|name| FailedRevision {
                    name: name.to_owned(),
                    ..FailedRevision::default()
                }),
                ..RolloutStatus::default()
            }),
            ..StreamingPipelineStatus::default()
        }
    }

    fn told(order: Order, status: &StreamingPipelineStatus) -> Result<String, String> {
        let now: Timestamp = "2026-01-31T12:00:00.5Z".parse().expect("a time");
        patch(order, status, now).map(|patch| patch.to_string())
    }

    #[test]
    fn each_order_is_the_edit_that_the_documentation_has() {
        let status = status(Some("old"), Some("new"), None);
        for (order, patch) in [
            (Order::Pause, r#"{"spec":{"rollout":{"paused":true}}}"#),
            (Order::Resume, r#"{"spec":{"rollout":{"paused":false}}}"#),
            (
                Order::Promote,
                r#"{"metadata":{"annotations":{"streams.sentry.io/promote":"new"}}}"#,
            ),
            (
                Order::Abort,
                r#"{"metadata":{"annotations":{"streams.sentry.io/abort":"new"}}}"#,
            ),
            (
                Order::Restart,
                r#"{"spec":{"rollout":{"restartAt":"2026-01-31T12:00:00Z"}}}"#,
            ),
        ] {
            assert_eq!(told(order, &status).as_deref(), Ok(patch));
        }
    }

    #[test]
    fn a_resume_lets_the_revision_try_again_that_failed_and_no_other() {
        let resumed = told(Order::Resume, &status(Some("old"), Some("new"), Some("new")));
        let patch = r#"{"spec":{"rollout":{"paused":false}},"metadata":{"annotations":{"streams.sentry.io/resume":"new@2026-01-31T12:00:00Z"}}}"#;
        assert_eq!(resumed.as_deref(), Ok(patch));
        let other = told(Order::Resume, &status(Some("old"), Some("new"), Some("older")));
        assert_eq!(other.as_deref(), Ok(r#"{"spec":{"rollout":{"paused":false}}}"#));
    }

    #[test]
    fn an_order_that_would_do_nothing_says_why() {
        assert!(told(Order::Abort, &status(None, Some("new"), None)).is_err());
        assert!(told(Order::Abort, &status(Some("new"), Some("new"), None)).is_err());
        assert!(told(Order::Promote, &status(None, None, None)).is_err());
    }
}
