//! A pass over the Pods while it is planned: the working copy, the goal, and what has been decided so far.
//!
//! Must never decide: the steps do, each in its own file, and write here.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::core::names::{Generation, Ordinal, PodName, Revision, WorkloadSet};
use crate::core::observed::{Observed, Owner, PodFacts};
use crate::core::settings::Settings;

use super::decision::{Action, CreateReason, DeleteReason, PodDelete, PodPlan, Replaced};
use super::fleet::{Fleet, Member, Numbers, Place, Slot};
use super::goal::Goal;
use super::legacy::Books;
use super::order;
use super::wanted::{Orders, Wanted};

/// A pass over the Pods while it is planned.
pub(super) struct Pass<'a> {
    pub(super) goal: Goal,
    pub(super) fleet: Fleet<'a>,
    /// Of `fleet`, as it is now.
    pub(super) numbers: Numbers,
    /// The Deployments of the Python operator.
    pub(super) legacy: Books<'a>,
    pub(super) wanted: &'a Wanted,
    pub(super) orders: &'a Orders,
    pub(super) settings: &'a Settings,
    pub(super) now: Timestamp,
    /// What has been decided, in order.
    pub(super) actions: Vec<Action>,
    /// When something changes by time alone.
    pub(super) wakes: Vec<Timestamp>,
    /// The generation last given out for each place.
    pub(super) generations: BTreeMap<(WorkloadSet, Ordinal), Generation>,
    names: BTreeSet<PodName>,
    in_the_way: &'a BTreeSet<PodName>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        goal: Goal,
        wanted: &'a Wanted,
        orders: &'a Orders,
        observed: &'a Observed,
        generations: BTreeMap<(WorkloadSet, Ordinal), Generation>,
        settings: &'a Settings,
        now: Timestamp,
    ) -> Self {
        let fleet = Fleet::new(observed);
        Self {
            numbers: Numbers::of(&goal, &fleet),
            legacy: Books::new(observed, settings, now),
            goal,
            fleet,
            wanted,
            orders,
            settings,
            now,
            actions: Vec::new(),
            wakes: Vec::new(),
            generations,
            names: observed.names.clone(),
            in_the_way: &observed.in_the_way,
        }
    }

    /// Places with an available Pod, and available consumers of the Python operator.
    pub(super) fn available(&self) -> usize {
        self.numbers.available + self.legacy.available()
    }

    /// Live Pods, and consumers of the Python operator that hold a place.
    pub(super) fn live(&self) -> usize {
        self.numbers.live + self.legacy.held()
    }

    /// Changes what is at a place: the only way in which the working copy changes, so that the numbers stay true.
    fn change<R>(&mut self, place: Place, change: impl FnOnce(&mut Slot<'a>) -> R) -> R {
        let slot = self.fleet.slot_mut(place);
        let before = Numbers::of_slot(&self.goal, slot);
        let result = change(slot);
        self.numbers.replace(&before, &Numbers::of_slot(&self.goal, slot));
        result
    }

    /// Deletes the `index`-th live Pod of a place: from here on it counts as terminating. One that cannot be deleted yet
    /// ([`PodDelete::of`]) stays.
    pub(super) fn delete(&mut self, place: Place, index: usize, why: DeleteReason) {
        let deleted = self.change(place, |slot| {
            let delete = delete_of(slot.live.get(index)?, why)?;
            let pod = slot.live.remove(index);
            slot.terminating += 1;
            if why == DeleteReason::Failed {
                slot.replaced = pod.seen;
            } else if let Some(seen) = pod.seen {
                slot.leaving = Some(seen);
            }
            Some(delete)
        });
        self.actions.extend(deleted);
    }

    /// Deletes every live Pod of a place.
    pub(super) fn delete_all(&mut self, place: Place, why: DeleteReason) {
        let count = self.fleet.slot(place).map_or(0, |slot| slot.live.len());
        for index in (0..count).rev() {
            self.delete(place, index, why);
        }
    }

    /// Removes the ended Pods of a place but the latest `keep`.
    pub(super) fn remove_ended(&mut self, place: Place, keep: usize, why: DeleteReason) {
        let removed: Vec<_> = self.change(place, |slot| {
            let count = slot.ended.len().saturating_sub(keep);
            let removed: Vec<_> = slot.ended.drain(..count).collect();
            slot.removed = removed.last().and_then(|pod| pod.seen).or(slot.removed);
            removed
        });
        self.actions
            .extend(removed.iter().filter_map(|pod| delete_of(pod, why)));
    }

    /// Deletes a Pod that will not end, with grace period 0.
    pub(super) fn force(&mut self, pod: &PodFacts) {
        let delete = PodDelete::of(&pod.name, &pod.uid, DeleteReason::StuckTerminating);
        let forced = delete.map(|delete| Action::DeletePod(PodDelete { force: true, ..delete }));
        self.actions.extend(forced);
    }

    /// Makes a Pod at a place; nothing happens where the place has no name. The ended Pods there are removed after it,
    /// so that their logs can be read until then.
    pub(super) fn create(
        &mut self,
        place: Place,
        revision: &Revision,
        failures: u32,
        why: CreateReason,
        replaces: Option<Replaced>,
    ) {
        let Place::At(set, ordinal) = place else { return };
        let Some(name) = self.next_name(set, ordinal) else {
            return;
        };
        self.generations.insert((set, ordinal), name.generation);
        self.names.insert(name.clone());
        let made = Member {
            name: name.to_string(),
            uid: String::new(),
            owner: Owner::Ours,
            revision: Some(revision.clone()),
            created: self.now,
            available: false,
            seen: None,
        };
        self.change(place, |slot| slot.live.push(made));
        self.actions.push(Action::CreatePod(PodPlan {
            name,
            set,
            revision: revision.clone(),
            failures,
            why,
            replaces,
        }));
        self.remove_ended(place, 0, DeleteReason::Failed);
    }

    /// Sends the first Pod of the wanted revision as a dry run.
    pub(super) fn dry_run(&mut self) {
        let Some(Place::At(set, ordinal)) = order::wanted(&self.goal).next() else {
            return;
        };
        let Some(name) = self.next_name(set, ordinal) else {
            return;
        };
        self.actions.push(Action::DryRunPod(PodPlan {
            name,
            set,
            revision: self.goal.wanted.clone(),
            failures: 0,
            why: CreateReason::Missing,
            replaces: None,
        }));
    }

    /// The name of the next Pod of a place: one generation above all that are known, and free. Where a Pod that nobody
    /// answers for has a name of the place it is that very name. The API server then refuses the create and says who has
    /// it, as it does where the Pod lacks our label and cannot be seen; going around it might run two consumers of one
    /// ordinal and call that Ready.
    pub(super) fn next_name(&self, set: WorkloadSet, ordinal: Ordinal) -> Option<PodName> {
        let base = self.wanted.base(set)?.clone();
        let of_generation = |generation| PodName {
            base: base.clone(),
            ordinal,
            generation,
        };
        // Names are sorted by base, ordinal and generation.
        let of_place = of_generation(Generation::default())..=of_generation(Generation::MAX);
        if let Some(taken) = self.in_the_way.range(of_place.clone()).next() {
            return (!self.names.contains(taken)).then(|| taken.clone());
        }
        let seen = self.names.range(of_place).next_back().map(|name| name.generation);
        let highest = seen.max(self.generations.get(&(set, ordinal)).copied());
        let mut generation = highest.map_or_else(Generation::default, Generation::next);
        // After 9999 comes 0, which may still be there; there are fewer Pods than generations, so one is free.
        for _ in 0..=Generation::MAX.get() {
            let name = of_generation(generation);
            if !self.names.contains(&name) {
                return Some(name);
            }
            generation = generation.next();
        }
        None
    }
}

fn delete_of(pod: &Member<'_>, why: DeleteReason) -> Option<Action> {
    PodDelete::of(&pod.name, &pod.uid, why).map(Action::DeletePod)
}
