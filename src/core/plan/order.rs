//! Who goes first. Must never decide whether anybody goes at all.

use crate::core::names::{Ordinal, WorkloadSet};

use super::fleet::{Fleet, Place, Slot, is_wanted};
use super::goal::Goal;

/// The place of the canary, if one is wanted.
pub(super) fn canary(goal: &Goal) -> Option<Place> {
    Ordinal::all(goal.canaries.min(1))
        .next()
        .map(|ordinal| Place::At(WorkloadSet::Canary, ordinal))
}

/// The wanted places in the order in which they are filled: the canary, then the primaries by ordinal.
pub(super) fn wanted(goal: &Goal) -> impl Iterator<Item = Place> + use<> {
    let primaries = Ordinal::all(goal.primaries).map(|ordinal| Place::At(WorkloadSet::Primary, ordinal));
    canary(goal).into_iter().chain(primaries)
}

/// The wanted places of primaries whose one live Pod is of another revision: unavailable ones first, for they cost
/// nothing, then by ordinal.
pub(super) fn outdated_primaries(goal: &Goal, fleet: &Fleet<'_>) -> Vec<Place> {
    sorted(fleet, |place, slot| {
        !place.is_canary() && is_wanted(goal, place) && slot.only().is_some_and(|pod| !goal.has_wanted(pod))
    })
}

/// The wanted places whose one live Pod is older than `restartAt` and of a revision that it may come back with, in the
/// same order.
pub(super) fn stale(goal: &Goal, fleet: &Fleet<'_>) -> Vec<Place> {
    let comes_back = |slot: &Slot<'_>| {
        slot.only()
            .is_some_and(|pod| goal.is_stale(pod) && (goal.has_wanted(pod) || goal.has_current(pod)))
    };
    sorted(fleet, |place, slot| is_wanted(goal, place) && comes_back(slot))
}

fn sorted(fleet: &Fleet<'_>, picked: impl Fn(Place, &Slot<'_>) -> bool) -> Vec<Place> {
    let picked = fleet.slots().filter(|(place, slot)| picked(*place, slot));
    let mut places: Vec<_> = picked.map(|(place, slot)| (slot.is_available(), place)).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, place)| place).collect()
}
