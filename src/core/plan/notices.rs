//! What happened to a rollout, seen by what changed between two passes.
//!
//! Must never repeat itself: each notice is of a transition.

use crate::api::NoticeReason;
use crate::api::meta::{ANNOTATION_ABORT, ANNOTATION_PROMOTE};
use crate::core::names::Revision;
use crate::core::observed::{Observed, Owner, PodFacts, PodState};
use crate::core::words::{are, counted, quoted};

use super::decision::{Action, PodPlan, Replaced};
use super::facts::{Facts, HoldBy, Phase};
use super::outcome::{ActionResult, Outcome};
use super::wanted::Orders;

/// Something that happened to a rollout, for an Event and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What.
    pub reason: NoticeReason,
    /// In a sentence.
    pub message: String,
}

/// How much of the kubelet's words stands in a notice, in characters: what follows them is not to be cut off an Event,
/// which holds 1024 bytes, and a termination message alone may have 4096.
const CAUSE_CHARS_MAX: usize = 400;

/// What the facts of this pass change of those of the one before. `orders` are those of this pass, `observed` what it saw,
/// `pods` how many Pods are wanted.
pub(super) fn of_facts(
    before: &Facts,
    after: &Facts,
    orders: &Orders,
    observed: &Observed,
    pods: usize,
) -> Vec<Notice> {
    let told = [
        started(before, after, pods),
        failed(before, after),
        out_of_time(before, after, observed),
        tries_again(before, after),
        promoted(before, after, orders),
        paused(before, after),
        completed(before, after, pods),
    ];
    told.into_iter().flatten().collect()
}

fn notice(reason: NoticeReason, message: impl Into<String>) -> Notice {
    Notice {
        reason,
        message: message.into(),
    }
}

fn started(before: &Facts, after: &Facts, pods: usize) -> Option<Notice> {
    let update = after.update_revision.as_ref()?;
    let pods = counted(pods, "Pod");
    let message = match &before.current_revision {
        None => format!("revision {update} is rolled out to {pods}"),
        Some(current) if current == update => format!("back to revision {update} with {pods}"),
        Some(current) => format!("revision {update} is rolled out to {pods} in place of {current}"),
    };
    is_new(before, after).then(|| notice(NoticeReason::RolloutStarted, message))
}

fn is_new(before: &Facts, after: &Facts) -> bool {
    before.update_revision != after.update_revision
}

fn failed(before: &Facts, after: &Facts) -> Option<Notice> {
    let failed = after.failed.as_ref();
    let failed = failed.filter(|failed| before.failed.as_ref() != Some(failed))?;
    let (revision, why) = (&failed.revision, failed.why.in_words());
    Some(if after.phase == Phase::RolledBack {
        let current = after.current_revision.as_ref();
        let current = current.map(ToString::to_string).unwrap_or_default();
        let message = format!("revision {revision} failed ({why}); the Pods go back to {current}");
        notice(NoticeReason::RolledBack, message)
    } else {
        let message = format!("revision {revision} failed ({why}); it holds where it stands");
        notice(NoticeReason::RolloutFailed, message)
    })
}

/// The deadline passed and only holds; one that fails the revision is told of as its failure.
fn out_of_time(before: &Facts, after: &Facts, observed: &Observed) -> Option<Notice> {
    let of_deadline = |facts: &Facts| facts.holds.iter().find(|hold| hold.by == HoldBy::Deadline).cloned();
    let hold = of_deadline(after).filter(|_| of_deadline(before).is_none())?;
    let update = after.update_revision.as_ref()?;
    let of_it = |pod: &&PodFacts| pod.owner == Owner::Ours && pod.revision.as_ref() == Some(update);
    let there = |pod: &&PodFacts| matches!(pod.state, PodState::Live | PodState::Ended);
    let pods: Vec<_> = observed.pods.iter().filter(of_it).filter(there).collect();
    let unavailable: Vec<_> = pods.iter().filter(|pod| !pod.is_available()).collect();
    let worst = unavailable
        .iter()
        .min_by_key(|pod| (!pod.health.permanent, !pod.health.report, &pod.name));
    let cause = worst.and_then(|pod| {
        let reason = pod.health.verdict.reason()?;
        let cause = cause(reason, pod.health.message.as_deref());
        Some(format!("Pod {}: {cause}; ", pod.name))
    });
    let cause = cause.unwrap_or_default();
    let count = match (unavailable.len(), pods.len()) {
        (_, 0) => "it has no Pod".to_owned(),
        (1, 1) => "its Pod is unavailable".to_owned(),
        (unwell, all) => format!("{unwell} of its {} {} unavailable", counted(all, "Pod"), are(unwell)),
    };
    let frees = frees(after.current_revision.as_ref(), update);
    let message = format!("{cause}revision {update}: {}, {count}; {frees}", hold.message);
    Some(notice(NoticeReason::ProgressDeadlineExceeded, message))
}

/// What ends it that a rollout of `update` is past its deadline.
fn frees(current: Option<&Revision>, update: &Revision) -> String {
    let by_itself = "it goes on by itself when a Pod of it becomes available, or with an edit of the spec";
    match current {
        None => format!("{by_itself}; there is no revision to go back to"),
        Some(current) if current == update => by_itself.to_owned(),
        Some(current) => format!(
            "{by_itself}; while one is unavailable no available Pod of {current} is replaced; the annotation \
             {ANNOTATION_ABORT}={update} goes back to {current}"
        ),
    }
}

fn tries_again(before: &Facts, after: &Facts) -> Option<Notice> {
    let again = before.failed.is_some() && after.failed.is_none() && !is_new(before, after);
    again.then(|| notice(NoticeReason::RolloutResumed, "the failed revision may try again"))
}

fn promoted(before: &Facts, after: &Facts, orders: &Orders) -> Option<Notice> {
    let revision = after.gate_opened_for.as_ref()?;
    // A revision that completed without a gate (the first one) was not promoted.
    if before.gate_opened_for.as_ref() == Some(revision) || before.current_revision.as_ref() == Some(revision) {
        return None;
    }
    let message = if orders.promote.as_ref() == Some(revision) {
        format!(
            "a person opened the gate of revision {revision} (annotation {ANNOTATION_PROMOTE}), however its canary is; \
             the primary Pods follow within the budget"
        )
    } else {
        format!("the canary of revision {revision} is good; the primary Pods follow")
    };
    Some(notice(NoticeReason::CanaryPromoted, message))
}

fn paused(before: &Facts, after: &Facts) -> Option<Notice> {
    let paused = |facts: &Facts| facts.holds.iter().any(|hold| hold.by == HoldBy::Paused);
    match (paused(before), paused(after)) {
        (false, true) => Some(notice(NoticeReason::RolloutPaused, "rollout.paused holds the rollout")),
        (true, false) => Some(notice(
            NoticeReason::RolloutResumed,
            "rollout.paused holds it no longer",
        )),
        _ => None,
    }
}

fn completed(before: &Facts, after: &Facts, pods: usize) -> Option<Notice> {
    let revision = after.current_revision.as_ref()?;
    // Of a revision that was current all the time: the Pods are back at it, or never left it.
    let was_on_its_way = before.returns_to.is_some() || (before.update_revision.is_some() && is_new(before, after));
    let is_reached = before.current_revision != after.current_revision || was_on_its_way;
    let is_over = is_reached && after.phase == Phase::Complete;
    let message = match pods {
        1 => format!("the one Pod is of revision {revision} and available"),
        pods => format!("all {pods} Pods are of revision {revision} and available"),
    };
    is_over.then(|| notice(NoticeReason::RolloutCompleted, message))
}

/// Why a Pod is not well: the word, then what the kubelet says of it.
fn cause(reason: &str, message: Option<&str>) -> String {
    let Some(message) = message.map(quoted).filter(|message| !message.is_empty()) else {
        return reason.to_owned();
    };
    let shown: String = message.chars().take(CAUSE_CHARS_MAX).collect();
    let mark = if shown.len() < message.len() { "…" } else { "" };
    format!("{reason}: {shown}{mark}")
}

/// What was done to Pods that a person may want to know: replacements of failed ones, and force.
#[must_use]
pub fn of_outcome(outcome: &Outcome) -> Vec<Notice> {
    let done = outcome
        .results
        .iter()
        .filter(|(_, result)| *result == ActionResult::Done);
    done.filter_map(|(action, _)| match action {
        Action::CreatePod(plan) => plan.replaces.as_ref().map(|old| replaced(plan, old)),
        Action::SetBackLegacy(back) => Some(notice(
            NoticeReason::LegacyWorkloadSetBack,
            format!(
                "Deployment {}/{} of the Python operator hung in a rolling update and got the Pod template of ReplicaSet {} \
                 back, whose Pods serve",
                back.namespace, back.name, back.to
            ),
        )),
        Action::DeleteLegacy { namespace, name, .. } => Some(notice(
            NoticeReason::LegacyWorkloadRemoved,
            format!("Deployment {namespace}/{name} of the Python operator is deleted"),
        )),
        Action::DeletePod(delete) if delete.force => Some(notice(
            NoticeReason::PodForceDeleted,
            format!("Pod {} did not end and was deleted with grace period 0", delete.name),
        )),
        _ => None,
    })
    .collect()
}

/// Also in a hand-over. A Pod of another revision, or one after an order to resume, carries no count on.
fn replaced(plan: &PodPlan, old: &Replaced) -> Notice {
    let what = match (old.disruption, plan.failures) {
        (true, _) => "was ended for its node's sake, which counts as no failure".to_owned(),
        (false, 0) => "failed".to_owned(),
        (false, failures) => format!("failed ({failures} in a row)"),
    };
    let cause = cause(&old.reason, old.message.as_deref());
    let message = format!(
        "{cause}; Pod {} {what}, and Pod {} takes its place",
        old.name, plan.name
    );
    notice(NoticeReason::PodReplaced, message)
}
