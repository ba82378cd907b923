//! Which places get a Pod now: those that failed are emptied when it is time, and the empty ones filled.
//!
//! Must never make more live Pods than are wanted, but for the one that takes over from a surplus Pod or a legacy consumer.

use crate::api::PodReplacementPolicy;
use crate::core::names::Revision;
use crate::core::observed::PodFacts;

use super::backoff;
use super::decision::{CreateReason, DeleteReason, Replaced};
use super::fleet::{Place, Slot, is_wanted};
use super::hand_over;
use super::legacy;
use super::order;
use super::pass::Pass;
use super::revision_choice;

/// Deletes live Pods that do not work and that another can replace, when their back-off is over. A Pod that ended needs
/// no deletion first; it stays until its replacement is made.
pub(super) fn heal(pass: &mut Pass<'_>) {
    for place in pass.fleet.places() {
        let Some(slot) = pass.fleet.slot(place) else { continue };
        if !is_wanted(&pass.goal, place) || slot.terminating > 0 {
            continue;
        }
        let Some((index, seen)) = broken(pass, place, slot) else {
            continue;
        };
        // What its place gets then is judged afterwards; the count is for its own revision, the only one that waits.
        let Some(revision) = seen.revision.clone() else {
            pass.delete(place, index, DeleteReason::Failed);
            continue;
        };
        if backoff::due(pass, Some(seen), &revision).is_some() {
            pass.delete(place, index, DeleteReason::Failed);
        }
    }
}

fn broken<'a>(pass: &Pass<'a>, place: Place, slot: &Slot<'a>) -> Option<(usize, &'a PodFacts)> {
    let under_way = hand_over::is_under_way(&pass.goal, place, slot);
    if slot.live.len() > 1 && !under_way {
        return None;
    }
    slot.live.iter().enumerate().find_map(|(index, pod)| {
        let seen = pod.seen.filter(|seen| seen.health.replace)?;
        // While the rollout is frozen no failed successor is made again, so it is left for a person to look at.
        let left = under_way && pass.goal.frozen && pass.goal.is_final(pod);
        (!left).then_some((index, seen))
    })
}

/// Fills the empty places, the canary's first.
pub(super) fn empty_places(pass: &mut Pass<'_>, canary_waits: bool) {
    for place in order::wanted(&pass.goal) {
        let slot = pass.fleet.slot(place);
        if slot.is_some_and(|slot| !slot.live.is_empty() || !may_be_refilled(pass, slot)) {
            continue;
        }
        let takes_over = takes_over(pass, place);
        // A place that waits itself is none that others are kept for: it becomes a live one, and the sum stays.
        let waits = slot.is_some_and(|slot| !slot.ended.is_empty());
        let kept = if waits { 0 } else { legacy::waiting(pass) };
        if pass.live() + kept >= pass.goal.budget.wanted && !takes_over {
            if pass.live() >= pass.goal.budget.wanted {
                break;
            }
            continue;
        }
        let (before, ended) = before(slot);
        let revision = revision_choice::choose(pass, place, canary_waits);
        let why = match (takes_over, ended) {
            (true, _) => CreateReason::TakeOver,
            (false, true) => CreateReason::Failed,
            (false, false) => CreateReason::Missing,
        };
        fill(pass, place, &revision, before, why);
    }
}

/// Makes a Pod with the failures that it carries on, unless its back-off is not over.
pub(super) fn fill(pass: &mut Pass<'_>, place: Place, revision: &Revision, before: Before<'_>, why: CreateReason) {
    let failures = match before {
        Before::Nothing => Some(0),
        Before::Left(pod) => Some(carried_on(pod, revision)),
        // Its back-off was over when it was deleted.
        Before::Deleted(pod) => Some(backoff::carried(pass, pod, revision)),
        Before::Ended(pod) => backoff::due(pass, Some(pod), revision),
    };
    let replaces = match before {
        Before::Deleted(pod) | Before::Ended(pod) => Some(pod),
        // The old Pod of a hand-over that ended beside its successor is removed by now.
        Before::Nothing | Before::Left(_) => {
            let removed = pass.fleet.slot(place).and_then(|slot| slot.removed);
            removed.filter(|pod| why == CreateReason::HandOver && pod.revision.as_ref() == Some(revision))
        }
    };
    let replaces = replaces.map(Replaced::of);
    if let Some(failures) = failures {
        pass.create(place, revision, failures, why, replaces);
    }
}

/// What was at a place before, as far as it can be seen.
#[derive(Clone, Copy)]
pub(super) enum Before<'a> {
    /// Nothing.
    Nothing,
    /// It was deleted, by whom ever.
    Left(&'a PodFacts),
    /// This pass deletes it because it does not work.
    Deleted(&'a PodFacts),
    /// It ended and is still there.
    Ended(&'a PodFacts),
}

/// What was at a place before, and whether it failed.
pub(super) fn before<'a>(slot: Option<&Slot<'a>>) -> (Before<'a>, bool) {
    let Some(slot) = slot else {
        return (Before::Nothing, false);
    };
    if let Some(pod) = slot.last_ended().and_then(|pod| pod.seen) {
        return (Before::Ended(pod), true);
    }
    match (slot.replaced, slot.leaving) {
        (Some(pod), _) => (Before::Deleted(pod), true),
        (None, Some(pod)) => (Before::Left(pod), false),
        (None, None) => (Before::Nothing, false),
    }
}

/// A Pod that was deleted did not fail; the count goes on unchanged.
fn carried_on(pod: &PodFacts, revision: &Revision) -> u32 {
    if pod.revision.as_ref() == Some(revision) {
        pod.failures
    } else {
        0
    }
}

fn may_be_refilled(pass: &Pass<'_>, slot: &Slot<'_>) -> bool {
    match pass.goal.policy {
        PodReplacementPolicy::TerminatingOrFailed => slot.terminating <= 1,
        PodReplacementPolicy::Failed => slot.terminating == 0,
    }
}

/// With one Pod wanted, the Pod that takes over from an available surplus Pod, or from the only consumer of the Python
/// operator, is made although the place is taken; otherwise either none would serve for a while, or none would ever take
/// over.
fn takes_over(pass: &Pass<'_>, place: Place) -> bool {
    let surplus = pass.numbers.live == 1 && pass.numbers.available > 0;
    let is_one = pass.goal.budget.wanted == 1 && pass.live() == 1;
    is_one && !place.is_canary() && (surplus || legacy::hands_over(pass))
}
