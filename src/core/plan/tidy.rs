//! What is removed whatever the rollout does: Pods that will not end, duplicates, ended Pods that wait for nothing.
//!
//! Must never lower the number of available Pods: two Pods of a place count once, and an ended one not at all.

use crate::api::PodReplacementPolicy;
use crate::core::health::Verdict;
use crate::core::names::Ordinal;
use crate::core::names::WorkloadSet;
use crate::core::observed::{Observed, PodState};

use super::decision::DeleteReason;
use super::fleet::{Place, is_wanted};
use super::hand_over;
use super::pass::Pass;

/// Forces Pods that will not end, a predecessor's too, or its ordinal might never be filled. With policy `Failed` never: the process may still run where nobody sees it, and then
/// the identity would run twice.
pub(super) fn force_stuck(pass: &mut Pass<'_>, observed: &Observed) {
    if pass.goal.policy == PodReplacementPolicy::Failed {
        return;
    }
    let stuck = observed
        .pods
        .iter()
        .filter(|pod| pod.state == PodState::Terminating && pod.health.verdict == Verdict::Stuck && pod.health.replace);
    for pod in stuck {
        pass.force(pod);
    }
}

/// Deletes all live Pods but one of each place, except in a hand-over. Kept is an available one, then the one of the
/// wanted revision, then the later. Not while a Pod of the place is terminating, so that no more than one ever is.
pub(super) fn duplicates(pass: &mut Pass<'_>) {
    for place in pass.fleet.places() {
        let Some(slot) = pass.fleet.slot(place) else { continue };
        let waits = slot.terminating > 0 && pass.goal.budget.wanted > 0;
        if slot.live.len() < 2 || waits || hand_over::is_under_way(&pass.goal, place, slot) {
            continue;
        }
        let best = slot
            .live
            .iter()
            .enumerate()
            .max_by_key(|(_, pod)| (pod.available, pass.goal.is_final(pod), pod.age()))
            .map(|(index, _)| index);
        let others: Vec<usize> = (0..slot.live.len())
            .rev()
            .filter(|index| Some(*index) != best)
            .collect();
        for index in others {
            pass.delete(place, index, DeleteReason::Duplicate);
        }
    }
}

/// Removes ended Pods whose place has a live Pod or is not wanted, and all but the latest of one place. The failed
/// successor of a hand-over stays: it is made again beside the old Pod once its back-off is over.
pub(super) fn ended(pass: &mut Pass<'_>) {
    for place in pass.fleet.places() {
        let Some(slot) = pass.fleet.slot(place) else { continue };
        let successor = hand_over::failed_successor(pass, place).is_some();
        let keep = is_wanted(&pass.goal, place) && (slot.live.is_empty() || successor);
        pass.remove_ended(place, usize::from(keep), DeleteReason::Ended);
    }
}

/// Deletes everything: no Pod is wanted.
pub(super) fn drain(pass: &mut Pass<'_>) {
    for place in pass.fleet.places() {
        pass.delete_all(place, DeleteReason::Drain);
        pass.remove_ended(place, 0, DeleteReason::Drain);
    }
}

/// Deletes Pods of places that are not wanted: the unavailable ones, and of the available ones all that the floor of the
/// new number does not need. A scale down and the move of a Pod between the sets are the same here: both give up a Pod
/// only when enough others serve.
pub(super) fn surplus(pass: &mut Pass<'_>) {
    let floor = pass.goal.budget.surplus_floor;
    let mut places: Vec<_> = pass
        .fleet
        .slots()
        .filter(|(place, slot)| !slot.live.is_empty() && !is_wanted(&pass.goal, *place))
        .map(|(place, slot)| (slot.is_available(), std::cmp::Reverse(surplus_rank(place)), place))
        .collect();
    places.sort_unstable();
    for (available, _, place) in places {
        if !available || pass.available() > floor {
            pass.delete_all(place, DeleteReason::ScaleDown);
        }
    }
}

/// Pods without a place go first, then the canary, then the highest ordinal.
const fn surplus_rank(place: Place) -> (u8, usize) {
    match place {
        Place::Nowhere(number) => (2, number),
        Place::At(WorkloadSet::Canary, ordinal) => (1, ordinal_number(ordinal)),
        Place::At(WorkloadSet::Primary, ordinal) => (0, ordinal_number(ordinal)),
    }
}

const fn ordinal_number(ordinal: Ordinal) -> usize {
    ordinal.get() as usize
}
