//! What happened to a rollout, seen by what changed between two passes.
//!
//! Must never repeat itself: each notice is of a transition.

use crate::api::NoticeReason;

use super::decision::{Action, CreateReason};
use super::facts::{Facts, HoldBy, Phase};
use super::outcome::{ActionResult, Outcome};

/// Something that happened to a rollout, for an Event and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What.
    pub reason: NoticeReason,
    /// In a sentence.
    pub message: String,
}

/// What the facts of this pass change of those of the one before.
pub(super) fn of_facts(before: &Facts, after: &Facts) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut tell = |reason, message| notices.push(Notice { reason, message });
    let is_new = before.update_revision != after.update_revision;
    if let Some(update) = after.update_revision.as_ref().filter(|_| is_new) {
        let message = match &before.current_revision {
            None => format!("revision {update} is rolled out"),
            Some(current) if current == update => format!("the Pods return to revision {update}"),
            Some(current) => format!("revision {update} is rolled out in place of {current}"),
        };
        tell(NoticeReason::RolloutStarted, message);
    }
    if let Some(failed) = after
        .failed
        .as_ref()
        .filter(|failed| before.failed.as_ref() != Some(failed))
    {
        let current = after
            .current_revision
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let why = failed.why.in_words();
        if after.phase == Phase::RolledBack {
            let message = format!(
                "revision {} failed ({why}); the Pods go back to {current}",
                failed.revision
            );
            tell(NoticeReason::RolledBack, message);
        } else {
            let message = format!("revision {} failed ({why}); it holds where it stands", failed.revision);
            tell(NoticeReason::RolloutFailed, message);
        }
    }
    if before.failed.is_some() && after.failed.is_none() && !is_new {
        tell(
            NoticeReason::RolloutResumed,
            "the failed revision may try again".to_owned(),
        );
    }
    // A revision that completed without a gate (the first one) was not promoted.
    if before.gate_opened_for != after.gate_opened_for
        && let Some(revision) = &after.gate_opened_for
        && before.current_revision.as_ref() != Some(revision)
    {
        let message = format!("the canary of revision {revision} is good; the primary Pods follow");
        tell(NoticeReason::CanaryPromoted, message);
    }
    let paused = |facts: &Facts| facts.holds.iter().any(|hold| hold.by == HoldBy::Paused);
    match (paused(before), paused(after)) {
        (false, true) => tell(
            NoticeReason::RolloutPaused,
            "rollout.paused holds the rollout".to_owned(),
        ),
        (true, false) => tell(
            NoticeReason::RolloutResumed,
            "rollout.paused holds it no longer".to_owned(),
        ),
        _ => {}
    }
    if before.current_revision != after.current_revision
        && let Some(revision) = after
            .current_revision
            .as_ref()
            .filter(|_| after.phase == Phase::Complete)
    {
        let message = format!("every Pod is of revision {revision} and available");
        tell(NoticeReason::RolloutCompleted, message);
    }
    notices
}

/// What was done to Pods that a person may want to know: replacements of failed ones, and force.
#[must_use]
pub fn of_outcome(outcome: &Outcome) -> Vec<Notice> {
    let done = outcome
        .results
        .iter()
        .filter(|(_, result)| *result == ActionResult::Done);
    done.filter_map(|(action, _)| match action {
        Action::CreatePod(plan) if plan.why == CreateReason::Failed => Some(Notice {
            reason: NoticeReason::PodReplaced,
            message: format!(
                "Pod {} takes the place of one that failed ({} in a row)",
                plan.name, plan.failures
            ),
        }),
        Action::DeleteLegacy { namespace, name, .. } => Some(Notice {
            reason: NoticeReason::LegacyWorkloadRemoved,
            message: format!("Deployment {namespace}/{name} of the Python operator is deleted"),
        }),
        Action::DeletePod(delete) if delete.force => Some(Notice {
            reason: NoticeReason::PodForceDeleted,
            message: format!("Pod {} did not end and was deleted with grace period 0", delete.name),
        }),
        _ => None,
    })
    .collect()
}
