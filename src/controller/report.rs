//! The one place that logs, publishes Events and counts what a pass did. Must never fail a pass, and never put an
//! object's name into a metric's label.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType};

use super::context::Context;
use super::errors::Class;
use super::gather::View;
use crate::api::meta::{API_VERSION, KIND};
use crate::api::{NoticeReason, StreamingPipelineStatus};
use crate::core::health::Verdict;
use crate::core::plan::{Action, ActionResult, Notice, Outcome};
use crate::core::words::counted;
use crate::telemetry::PipelineFigures;
use crate::telemetry::labels::{PodVerdict, ReplicaState, RetryClass, RolloutPhase};

/// Longest note of an Event, in bytes; the API server refuses longer ones.
const NOTE_BYTES_MAX: usize = 1024;

/// Logs what was done, and counts what is tried again.
pub fn outcome(ctx: &Context, outcome: &Outcome) {
    for (action, result) in &outcome.results {
        match result {
            ActionResult::Done => tracing::info!(action = %in_words(action), "done"),
            ActionResult::AlreadyOurs => tracing::info!(action = %in_words(action), "was done already"),
            ActionResult::NotOurs { holder } => {
                tracing::warn!(action = %in_words(action), %holder, "not done: the name is another's");
            }
            ActionResult::Refused { code, reason, message } => {
                ctx.metrics.retried(class_of_code(*code));
                tracing::warn!(action = %in_words(action), code, %reason, %message, "refused");
            }
            ActionResult::Unavailable { message } => {
                ctx.metrics.retried(RetryClass::Network);
                tracing::warn!(action = %in_words(action), %message, "not done; tries again");
            }
            ActionResult::Skipped => tracing::debug!(action = %in_words(action), "skipped"),
        }
    }
}

fn class_of_code(code: u16) -> RetryClass {
    match code {
        401 | 403 => RetryClass::Forbidden,
        409 => RetryClass::Conflict,
        _ => RetryClass::Invalid,
    }
}

fn in_words(action: &Action) -> String {
    match action {
        Action::AddFinalizer => "add the finalizer".to_owned(),
        Action::RemoveFinalizer => "remove the finalizer".to_owned(),
        Action::CreateRevision { name, .. } => format!("create ControllerRevision {name}"),
        Action::CreateConfigMap { name, .. } => format!("create ConfigMap {name}"),
        Action::DryRunPod(plan) => format!("try Pod {} of revision {}", plan.name, plan.revision),
        Action::CreatePod(plan) => {
            let (name, revision, why) = (&plan.name, &plan.revision, plan.why);
            format!("create Pod {name} of revision {revision} ({why:?})")
        }
        Action::DeletePod(delete) => {
            let force = if delete.force { ", by force" } else { "" };
            format!("delete Pod {} ({:?}{force})", delete.name, delete.why)
        }
        Action::DeleteConfigMap { name, why, .. } => format!("delete ConfigMap {name} ({why:?})"),
        Action::DeleteRevision { name, why, .. } => format!("delete ControllerRevision {name} ({why:?})"),
        Action::ClaimLegacy(claim) => format!(
            "claim Deployment {}/{} at {}",
            claim.namespace,
            claim.name,
            counted(claim.replicas, "replica")
        ),
        Action::ScaleLegacy(scale) => format!(
            "scale Deployment {}/{} from {} to {}",
            scale.namespace, scale.name, scale.from, scale.to
        ),
        Action::SetBackLegacy(back) => format!(
            "set Deployment {}/{} back to the Pods of ReplicaSet {}",
            back.namespace, back.name, back.to
        ),
        Action::DeleteLegacy { namespace, name, .. } => format!("delete Deployment {namespace}/{name}"),
        Action::DeleteLegacyConfigMap { namespace, name, .. } => {
            format!("delete ConfigMap {namespace}/{name} of the Python operator")
        }
        Action::RemoveLegacyMarks => "remove the finalizers and annotations of the Python operator".to_owned(),
        Action::MarkCompleted { revision, .. } => format!("mark revision {revision} as completed"),
    }
}

/// Publishes what happened to the rollout. An Event that cannot be written is logged and lost: the status has it all.
pub async fn notices(ctx: &Context, view: &View, notices: &[Notice]) {
    let reference = ObjectReference {
        api_version: Some(API_VERSION.to_owned()),
        kind: Some(KIND.to_owned()),
        name: Some(view.pipeline.name.clone()),
        namespace: Some(view.pipeline.namespace.clone()),
        uid: Some(view.pipeline.uid.clone()),
        resource_version: view.stored.metadata.resource_version.clone(),
        ..ObjectReference::default()
    };
    for notice in notices {
        publish(ctx, &reference, notice.reason, &notice.message).await;
    }
}

/// Publishes one Event about an object, and logs it.
pub async fn publish(ctx: &Context, about: &ObjectReference, reason: NoticeReason, message: &str) {
    publish_as(ctx, about, reason.as_str(), reason.is_warning(), message).await;
}

/// The same with a reason of another kind; `warns`: as a Warning.
pub async fn publish_as(ctx: &Context, about: &ObjectReference, reason: &'static str, warns: bool, message: &str) {
    if warns {
        tracing::warn!(reason, "{message}");
    } else {
        tracing::info!(reason, "{message}");
    }
    let event = Event {
        type_: if warns { EventType::Warning } else { EventType::Normal },
        reason: reason.to_owned(),
        note: Some(cut(message, NOTE_BYTES_MAX).to_owned()),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    let published = ctx.ask("publish an Event", ctx.recorder.publish(&event, about)).await;
    match published {
        Ok(()) => {}
        // Nothing can be written into a namespace that is being deleted.
        Err(failure) if failure.class() == Class::NotFound => {}
        Err(failure) => tracing::warn!(reason, "{}", failure.in_words()),
    }
}

/// The longest beginning of `text` of at most `bytes` bytes that ends between two characters.
fn cut(text: &str, bytes: usize) -> &str {
    let ends = (0..=bytes.min(text.len())).rev();
    ends.into_iter().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// Counts the pipeline's Pods and its rollout.
pub fn figures(ctx: &Context, view: &View, outcome: &Outcome) {
    let mut pods = BTreeMap::new();
    for pod in &view.observed.after(outcome, view.now).pods {
        *pods.entry(verdict(&pod.health.verdict)).or_default() += 1;
    }
    let status: &StreamingPipelineStatus = view.previous();
    let desired = view.spec.wanted.as_ref().map_or(0, |wanted| i64::from(wanted.total()));
    let phase = status
        .rollout
        .as_ref()
        .map(|rollout| RolloutPhase::parse(&rollout.phase));
    let figures = PipelineFigures {
        pods,
        phase,
        replicas: BTreeMap::from([
            (ReplicaState::Desired, desired),
            (ReplicaState::Ready, status.ready_replicas.into()),
            (ReplicaState::Available, status.available_replicas.into()),
            (ReplicaState::Updated, status.updated_replicas.into()),
        ]),
    };
    ctx.metrics
        .pipeline(&view.pipeline.namespace, &view.pipeline.name, figures);
}

fn verdict(verdict: &Verdict) -> PodVerdict {
    match verdict {
        Verdict::Ready => PodVerdict::Ready,
        Verdict::Waiting(_) => PodVerdict::Waiting,
        Verdict::Failed(_) => PodVerdict::Failed,
        Verdict::Terminating => PodVerdict::Terminating,
        Verdict::Stuck => PodVerdict::Stuck,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_cut_between_two_characters() {
        assert_eq!(cut("abc", 5), "abc");
        assert_eq!(cut("abcdef", 3), "abc");
        assert_eq!(cut("a\u{e4}\u{f6}", 4), "a\u{e4}");
    }
}
