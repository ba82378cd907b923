//! The steps of a rollout: which Pods are deleted so that their places get another revision.
//!
//! Must never take the number of available Pods below the floor, and never delete a Pod that would be made again as it
//! was.

use super::decision::DeleteReason;
use super::fleet::{Member, Place, Slot, is_wanted};
use super::order;
use super::pass::Pass;
use crate::core::observed::Owner;

/// Deletes the Pods that are to be replaced now. Not to be called while the rollout is frozen.
pub(super) fn update(pass: &mut Pass<'_>, canary_waits: bool) {
    canary(pass);
    for place in order::outdated_primaries(&pass.goal, &pass.fleet) {
        let Some(pod) = replaceable(pass, place) else { continue };
        let step = Step {
            available: pod.available,
            current: pass.goal.has_current(pod),
            why: why(pod),
        };
        if may_go(pass, &step, canary_waits) {
            pass.delete(place, 0, step.why);
        }
    }
}

/// The canary is updated first, and never as the last available Pod, nor below the floor. An unavailable one goes
/// whatever the gate says, for the gate waits for it.
fn canary(pass: &mut Pass<'_>) {
    let Some(place) = order::canary(&pass.goal) else { return };
    let Some(pod) = replaceable(pass, place) else { return };
    if pass.goal.has_wanted(pod) {
        return;
    }
    let (available, current, why) = (pod.available, pass.goal.has_current(pod), why(pod));
    let useful = !current || may_try(pass);
    let affordable = !available || pass.available() > pass.goal.budget.floor.max(1);
    if useful && affordable && !(available && is_held(pass, current)) {
        pass.delete(place, 0, why);
    }
}

/// Deletes Pods that are older than `restartAt` and are to come back as they are: without a gate, the available ones
/// within the budget, the others as long as fewer than `maxUnavailable` younger ones are unavailable.
pub(super) fn restart(pass: &mut Pass<'_>) {
    for place in order::stale(&pass.goal, &pass.fleet) {
        let Some(pod) = replaceable(pass, place) else { continue };
        let affordable = if pod.available {
            pass.available() > pass.goal.budget.floor
        } else {
            pass.numbers.young_unavailable < pass.goal.budget.max_unavailable
        };
        if affordable {
            pass.delete(place, 0, DeleteReason::Restart);
        }
    }
}

/// Deletes the Pods that do not work, of a failed revision or of one that is neither it nor the current one; they come
/// back as current. The available ones stay.
pub(super) fn failed_in_place(pass: &mut Pass<'_>) {
    for place in pass.fleet.places() {
        let Some(pod) = replaceable(pass, place) else { continue };
        let broken = !pod.available && !pass.goal.has_wanted(pod);
        let why = if pass.goal.has_update(pod) {
            DeleteReason::RevisionFailed
        } else {
            why(pod)
        };
        if is_wanted(&pass.goal, place) && broken {
            pass.delete(place, 0, why);
        }
    }
}

/// Whether the canary has an older revision and may not be replaced yet, because it is needed as an available Pod. The
/// unavailable primaries move first then, without the gate, which waits for this canary.
pub(super) fn canary_waits(pass: &Pass<'_>) -> bool {
    let slot = order::canary(&pass.goal).and_then(|place| pass.fleet.slot(place));
    let old = slot
        .and_then(Slot::only)
        .is_some_and(|pod| pod.available && !pass.goal.has_wanted(pod));
    old && pass.available() <= pass.goal.budget.floor.max(1)
}

/// Whether fewer Pods of the wanted revision than `maxUnavailable` are unavailable, so that another may be tried.
pub(super) fn may_try(pass: &Pass<'_>) -> bool {
    pass.numbers.updated_unavailable < pass.goal.budget.max_unavailable
}

/// A live Pod that is to be replaced.
struct Step {
    available: bool,
    current: bool,
    why: DeleteReason,
}

fn may_go(pass: &Pass<'_>, step: &Step, canary_waits: bool) -> bool {
    let open = pass.goal.gate_open;
    if step.available {
        // It would come back as the current one.
        let useless = step.current && !may_try(pass);
        let affordable = pass.available() > pass.goal.budget.floor;
        return open && affordable && !useless && !is_held(pass, step.current);
    }
    // Of a revision that is neither: it serves nobody and is no state to return to.
    !step.current || ((open || canary_waits) && may_try(pass))
}

/// Past the deadline, and while an updated Pod is unavailable, no available Pod of the current revision is given up.
fn is_held(pass: &Pass<'_>, current: bool) -> bool {
    pass.goal.past_deadline && !pass.goal.failed && current && pass.numbers.updated_unavailable > 0
}

/// The live Pod of a place, if there is one and its deletion would leave no second one terminating.
fn replaceable<'p, 'a>(pass: &'p Pass<'a>, place: Place) -> Option<&'p Member<'a>> {
    let slot = pass.fleet.slot(place)?;
    slot.only().filter(|_| slot.terminating == 0)
}

fn why(pod: &Member<'_>) -> DeleteReason {
    match pod.owner {
        Owner::Ours => DeleteReason::OutdatedRevision,
        Owner::Predecessor => DeleteReason::Predecessor,
        Owner::OldNamespace => DeleteReason::OldNamespace,
    }
}
