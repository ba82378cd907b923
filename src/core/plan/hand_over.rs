//! The hand-over: with one Pod wanted, an update makes the successor beside the old Pod and gives up the old one only
//! when the successor is available. It is the one case in which an ordinal is given two live Pods.
//!
//! Nothing is remembered: whether one is under way is seen from the Pods. Must never apply to more than one wanted Pod or
//! with policy `Failed`, where an identity must not run twice.

use crate::core::names::{Ordinal, Revision, WorkloadSet};

use super::decision::CreateReason;
use super::fill;
use super::fleet::{Member, Place, Slot};
use super::goal::Goal;
use super::pass::Pass;

/// Whether the two live Pods of a place both stay: one is the successor and not available yet; the other serves, or is
/// of the current revision and to serve until the successor does.
pub(super) fn is_under_way(goal: &Goal, place: Place, slot: &Slot<'_>) -> bool {
    let [a, b] = slot.live.as_slice() else { return false };
    let (successor, other) = match (goal.is_final(a), goal.is_final(b)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return false,
    };
    is_its_place(goal, place) && !successor.available && (other.available || goal.has_current(other))
}

/// The ended Pod of the wanted revision beside one live Pod of another: a successor that failed, and that is made again
/// beside the old Pod once its back-off is over.
pub(super) fn failed_successor<'p, 'a>(pass: &'p Pass<'a>, place: Place) -> Option<&'p Member<'a>> {
    let goal = &pass.goal;
    let slot = pass.fleet.slot(place)?;
    let old = slot.only()?;
    let failed = slot.last_ended().filter(|pod| goal.has_wanted(pod))?;
    let alone = pass.live() == 1;
    (is_its_place(goal, place) && alone && !goal.frozen && !goal.is_final(old)).then_some(failed)
}

/// Makes the second Pod of the place where one is due: the successor beside an old Pod that serves, or a Pod of the
/// current revision beside a successor that does not serve yet.
pub(super) fn begin(pass: &mut Pass<'_>) {
    let Some(place) = place() else { return };
    let Some(slot) = pass.fleet.slot(place) else { return };
    let Some(pod) = slot.only() else { return };
    if !is_its_place(&pass.goal, place) || slot.terminating > 1 || pass.live() != 1 {
        return;
    }
    let failed = failed_successor(pass, place);
    let revision: Option<Revision> = if pass.goal.is_final(pod) {
        let other = pass.goal.current.clone().filter(|current| *current != pass.goal.wanted);
        other.filter(|_| !pod.available)
    } else {
        let due = !pass.goal.frozen && (pod.available || failed.is_some());
        due.then(|| pass.goal.wanted.clone())
    };
    let Some(revision) = revision else { return };
    let (before, _) = fill::before(Some(slot));
    fill::fill(pass, place, &revision, before, CreateReason::HandOver);
}

fn place() -> Option<Place> {
    Ordinal::new(0).map(|ordinal| Place::At(WorkloadSet::Primary, ordinal))
}

fn is_its_place(goal: &Goal, here: Place) -> bool {
    goal.budget.hand_over && Some(here) == place()
}
