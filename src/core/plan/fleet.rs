//! The Pods of a pipeline by place: a working copy that a pass changes as it plans, so that every later step counts with
//! what the earlier ones will have done.
//!
//! Must never decide: it counts and keeps the books.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::core::names::{Ordinal, Revision, WorkloadSet};
use crate::core::observed::{Observed, Owner, PodFacts, PodState};

use super::goal::Goal;

/// A place for a Pod. Canary before primary, then by ordinal: the order in which places are updated and filled. Pods
/// whose labels name no place stand last; nobody wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A place of a set.
    At(WorkloadSet, Ordinal),
    /// No place; the number tells such Pods apart.
    Nowhere(usize),
}

impl Place {
    pub(super) const fn is_canary(self) -> bool {
        matches!(self, Self::At(WorkloadSet::Canary, _))
    }
}

/// A Pod of the working copy.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) owner: Owner,
    pub(super) revision: Option<Revision>,
    pub(super) created: Timestamp,
    pub(super) available: bool,
    /// What was seen of it; `None` for one that this pass makes.
    pub(super) seen: Option<&'a PodFacts>,
}

impl Member<'_> {
    /// Which of two Pods is the later one: by creationTimestamp, then uid; generations wrap.
    pub(super) fn age(&self) -> (Timestamp, &str) {
        (self.created, &self.uid)
    }
}

/// What is at a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot<'a> {
    /// Neither terminating nor ended.
    pub(super) live: Vec<Member<'a>>,
    /// Ended and still there, the latest last.
    pub(super) ended: Vec<Member<'a>>,
    /// Number of Pods that are being deleted and have not ended.
    pub(super) terminating: usize,
    /// A Pod that this pass deletes because it does not work; its replacement counts its failures.
    pub(super) replaced: Option<&'a PodFacts>,
    /// The latest of the Pods that are being deleted; its replacement carries its failures on.
    pub(super) leaving: Option<&'a PodFacts>,
    /// The latest ended Pod that this pass removes. Nothing is decided from it; it is told of when it is replaced.
    pub(super) removed: Option<&'a PodFacts>,
}

impl<'a> Slot<'a> {
    /// The live Pod where there is exactly one.
    pub(super) fn only(&self) -> Option<&Member<'a>> {
        match self.live.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    pub(super) fn is_available(&self) -> bool {
        self.live.iter().any(|pod| pod.available)
    }

    /// The latest ended Pod.
    pub(super) fn last_ended(&self) -> Option<&Member<'a>> {
        self.ended.last()
    }
}

/// All Pods of a pipeline by place.
#[derive(Clone, Debug, Default)]
pub(super) struct Fleet<'a> {
    slots: BTreeMap<Place, Slot<'a>>,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(observed: &'a Observed) -> Self {
        let mut fleet = Self::default();
        for (number, pod) in observed.pods.iter().enumerate() {
            let place = pod
                .place
                .map_or(Place::Nowhere(number), |(set, ordinal)| Place::At(set, ordinal));
            let slot = fleet.slots.entry(place).or_default();
            match pod.state {
                PodState::Live => slot.live.push(member(pod)),
                PodState::Ended => slot.ended.push(member(pod)),
                PodState::Terminating => {
                    slot.terminating += 1;
                    if slot
                        .leaving
                        .is_none_or(|other| (other.created, &other.uid) < (pod.created, &pod.uid))
                    {
                        slot.leaving = Some(pod);
                    }
                }
                PodState::Gone => {}
            }
        }
        for slot in fleet.slots.values_mut() {
            slot.live.sort_by(|a, b| a.age().cmp(&b.age()));
            slot.ended.sort_by(|a, b| a.age().cmp(&b.age()));
        }
        fleet
    }

    /// All places where something is, in order.
    pub(super) fn places(&self) -> Vec<Place> {
        self.slots.keys().copied().collect()
    }

    pub(super) fn slot(&self, place: Place) -> Option<&Slot<'a>> {
        self.slots.get(&place)
    }

    pub(super) fn slot_mut(&mut self, place: Place) -> &mut Slot<'a> {
        self.slots.entry(place).or_default()
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = (Place, &Slot<'a>)> {
        self.slots.iter().map(|(place, slot)| (*place, slot))
    }
}

/// Numbers of Pods by which each step judges whether the next Pod may go. They are kept up to date as the working copy
/// changes: to count all places again for each of n Pods would make a pass take n² steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Live Pods.
    pub(super) live: usize,
    /// Places with an available Pod; several of one place count once.
    pub(super) available: usize,
    /// Pods of the wanted revision that are unavailable: live ones, and for each place an ended one that has no live Pod
    /// of that revision beside it.
    pub(super) updated_unavailable: usize,
    /// Places with a live Pod that is unavailable and not older than `restartAt`.
    pub(super) young_unavailable: usize,
}

impl Numbers {
    /// Of all places together.
    pub(super) fn of(goal: &Goal, fleet: &Fleet<'_>) -> Self {
        let mut numbers = Self::default();
        for slot in fleet.slots.values() {
            numbers.add(&Self::of_slot(goal, slot));
        }
        numbers
    }

    /// Of one place.
    pub(super) fn of_slot(goal: &Goal, slot: &Slot<'_>) -> Self {
        let untried = |pod: &&Member<'_>| goal.has_wanted(pod) && !pod.available;
        let ended = slot.last_ended().is_some_and(|pod| goal.has_wanted(pod));
        let alone = slot.live.is_empty() || slot.live.iter().any(|pod| !goal.has_wanted(pod));
        let young = slot.live.iter().any(|pod| !pod.available && !goal.is_stale(pod));
        Self {
            live: slot.live.len(),
            available: usize::from(slot.is_available()),
            updated_unavailable: slot.live.iter().filter(untried).count() + usize::from(ended && alone),
            young_unavailable: usize::from(young),
        }
    }

    /// What was counted as `before` counts as `after` now.
    pub(super) fn replace(&mut self, before: &Self, after: &Self) {
        // What is taken away was added before, so this stops at no zero.
        self.live = self.live.saturating_sub(before.live);
        self.available = self.available.saturating_sub(before.available);
        self.updated_unavailable = self.updated_unavailable.saturating_sub(before.updated_unavailable);
        self.young_unavailable = self.young_unavailable.saturating_sub(before.young_unavailable);
        self.add(after);
    }

    fn add(&mut self, more: &Self) {
        self.live += more.live;
        self.available += more.available;
        self.updated_unavailable += more.updated_unavailable;
        self.young_unavailable += more.young_unavailable;
    }
}

/// Whether a place is wanted.
pub(super) fn is_wanted(goal: &Goal, place: Place) -> bool {
    match place {
        Place::At(set, ordinal) => ordinal.get() < goal.count(set),
        Place::Nowhere(_) => false,
    }
}

fn member(pod: &PodFacts) -> Member<'_> {
    Member {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        owner: pod.owner,
        revision: pod.revision.clone(),
        created: pod.created,
        available: pod.is_available(),
        seen: Some(pod),
    }
}
