//! The move from Deployments of the Python operator to Pods of ours.
//!
//! A step takes consumers off a Deployment and waits until it shows no more Pods than that and none terminating; the
//! Pods of ours follow in a later pass, as for any empty place. Nothing is remembered: how far the move is stands on the
//! Deployments. Must never take one while the Deployments still show a Pod of the step before, nor while it is not sure
//! that nobody else runs them: a Deployment is claimed first, and must then have been left alone for a while. Nor while a
//! Deployment is in a rolling update, for then it is not known whether one goes that serves: one that hangs is set back to
//! the template whose Pods serve, as a person would do it.

use jiff::{SignedDuration, Timestamp};

use crate::core::observed::{Claim, LegacyDeployment, Observed, Owner, Update};
use crate::core::settings::{Settings, later, whole_seconds};

use super::decision::{Action, ClaimLegacy, ScaleLegacy, SetBackLegacy};
use super::pass::Pass;
use super::{Input, order};

/// When Deployments are looked at again whose Pods are on their way out; their end is no event of the Deployment.
pub(super) const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(1);
/// When it is looked again at what changes with events, or by people in a while.
const LOOK_LATER: SignedDuration = SignedDuration::from_secs(10);
/// When it is looked again whether a right is granted by now, or another operator has stopped.
const LOOK_SELDOM: SignedDuration = SignedDuration::from_secs(30);

/// The Deployments of a pipeline while a pass is planned.
#[derive(Clone, Debug, Default)]
pub(super) struct Books<'a> {
    deployments: Vec<Book<'a>>,
    /// Not all of them are left to this operator.
    stopped: bool,
}

#[derive(Clone, Debug)]
struct Book<'a> {
    seen: &'a LegacyDeployment,
    /// The number as this pass leaves it.
    given: usize,
}

impl<'a> Books<'a> {
    pub(super) fn new(observed: &'a Observed, settings: &Settings, now: Timestamp) -> Self {
        let deployments = observed.legacy.deployments.iter().map(|seen| Book {
            seen,
            given: seen.given,
        });
        Self {
            deployments: deployments.collect(),
            stopped: observed.legacy.claim(settings.legacy_grace, now) != Claim::Held,
        }
    }

    /// The consumers that the Deployments are to have, as this pass leaves them.
    fn given(&self) -> usize {
        self.deployments.iter().map(|book| book.given).sum()
    }

    /// Available consumers, as this pass leaves them. Of a Deployment with fewer to have than it shows, only so many count;
    /// and of one from which something is taken in the middle of a rolling update none.
    pub(super) fn available(&self) -> usize {
        let of = |book: &Book<'_>| match book.seen.rolling {
            Some(_) if book.given < book.seen.given => 0,
            _ => book.given.min(book.seen.available),
        };
        self.deployments.iter().map(of).sum()
    }

    /// Consumers that hold a place: what this pass takes off a Deployment is not free yet, nor what still terminates.
    pub(super) fn held(&self) -> usize {
        let of = |book: &Book<'_>| book.seen.live() + book.seen.terminating;
        self.deployments.iter().map(of).sum()
    }

    /// Whether no Deployment shows more Pods than it is to have, nor one that terminates, nor Pods of two templates.
    fn is_settled(&self) -> bool {
        self.deployments.iter().all(|book| {
            let is_rolling = book.seen.rolling.is_some() && book.given > 0;
            book.seen.shown() <= book.given && book.seen.terminating == 0 && !is_rolling
        })
    }

    /// The books after one consumer was taken off one of the Deployments: one entry for each that has any, that of the
    /// canary first.
    fn without_one(&self) -> impl Iterator<Item = Self> {
        let has_any = self.deployments.iter().map(|book| book.given > 0);
        let numbers = has_any.enumerate().filter(|(_, has)| *has).map(|(number, _)| number);
        numbers.map(|number| {
            let mut after = self.clone();
            if let Some(book) = after.deployments.get_mut(number) {
                book.given = book.given.saturating_sub(1);
            }
            after
        })
    }

    /// Whether the one consumer that is wanted runs, available, in a Deployment, so that ours is made beside it.
    fn has_the_only_one(&self) -> bool {
        !self.stopped && self.is_settled() && self.available() == 1 && self.held() == 1
    }

    /// The new numbers of those Deployments from which something was taken.
    fn scales(&self) -> impl Iterator<Item = Action> {
        let taken = self.deployments.iter().filter(|book| book.given < book.seen.given);
        taken.map(|book| {
            Action::ScaleLegacy(ScaleLegacy {
                namespace: book.seen.namespace.clone(),
                name: book.seen.name.clone(),
                uid: book.seen.uid.clone(),
                resource_version: book.seen.resource_version.clone(),
                from: book.seen.given,
                to: book.given,
            })
        })
    }
}

/// Takes everything off: no consumer is wanted.
pub(super) fn drain(pass: &mut Pass<'_>) {
    if !pass.legacy.stopped {
        pass.legacy.deployments.iter_mut().for_each(|book| book.given = 0);
    }
}

/// Takes off what is beyond the wanted number, whatever holds the rollout: a scale down, or ours that has become
/// available beside the only one. An ordinal that waits for the replacement of a failed Pod keeps its place. An available
/// consumer stays as long as a surplus Pod of ours would.
pub(super) fn give_way(pass: &mut Pass<'_>) {
    let floor = pass.goal.budget.surplus_floor;
    let ours = pass.numbers.live + waiting(pass);
    while !pass.legacy.stopped && pass.legacy.given() > 0 && ours + pass.legacy.given() > pass.goal.budget.wanted {
        // One that serves nobody first.
        let Some(after) = pass.legacy.without_one().max_by_key(Books::available) else {
            return;
        };
        let costs = after.available() < pass.legacy.available();
        if costs && pass.numbers.available + after.available() < floor {
            return;
        }
        pass.legacy = after;
    }
}

/// Wanted places whose Pod ended and has no successor yet. While a Deployment has consumers they hold their
/// places as live Pods do: each consumer of a Deployment is in the place of a Pod that is not there.
pub(super) fn waiting(pass: &Pass<'_>) -> usize {
    if pass.legacy.held() == 0 {
        return 0;
    }
    let waits = order::wanted(&pass.goal).filter(|place| {
        let slot = pass.fleet.slot(*place);
        slot.is_some_and(|slot| slot.live.is_empty() && !slot.ended.is_empty())
    });
    waits.count()
}

/// A step: as many consumers as may be away. Available ones go within the budget, the others outside it, while fewer than
/// `maxUnavailable` of ours are unavailable. Not to be called while the rollout is frozen.
pub(super) fn step(pass: &mut Pass<'_>) {
    let wanted = pass.goal.budget.wanted;
    let full = pass.numbers.live + pass.legacy.given() >= wanted;
    if pass.legacy.stopped || !pass.legacy.is_settled() || !full {
        return;
    }
    let mut taken = 0;
    loop {
        let affordable = pass.available() > pass.goal.budget.floor;
        let may_try = pass.numbers.updated_unavailable + taken < pass.goal.budget.max_unavailable;
        let available = pass.legacy.available();
        let is_free = |after: &Books<'_>| after.available() == available && may_try;
        let Some(after) = pass.legacy.without_one().find(|after| affordable || is_free(after)) else {
            return;
        };
        taken += 1;
        pass.legacy = after;
    }
}

/// What is done with a Deployment whose rolling update hangs. It is set back to the Pods that serve. Where none does, also
/// after that, nothing is lost by taking all of them, unless ours serve as little. Not to be called while the rollout is frozen.
pub(super) fn free(pass: &mut Pass<'_>) {
    if pass.legacy.stopped {
        return;
    }
    let (grace, now) = (pass.settings.legacy_grace, pass.now);
    let may_try = pass.numbers.updated_unavailable < pass.goal.budget.max_unavailable;
    for book in &mut pass.legacy.deployments {
        match book.seen.update(grace, now) {
            Update::Barren if may_try => book.given = 0,
            Update::HangsBefore(set) => pass.actions.push(set_back(book.seen, set, now)),
            Update::Runs { until } => pass.wakes.push(until),
            Update::Barren | Update::Hangs | Update::Over => {}
        }
    }
}

fn set_back(deployment: &LegacyDeployment, set: &str, now: Timestamp) -> Action {
    Action::SetBackLegacy(SetBackLegacy {
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        uid: deployment.uid.clone(),
        resource_version: deployment.resource_version.clone(),
        to: set.to_owned(),
        at: whole_seconds(now),
    })
}

/// Whether ours is to be made beside the one legacy consumer that serves.
pub(super) fn hands_over(pass: &Pass<'_>) -> bool {
    pass.goal.budget.hand_over && !pass.goal.frozen && pass.numbers.live == 0 && pass.legacy.has_the_only_one()
}

/// The writes of what was taken.
pub(super) fn write(pass: &mut Pass<'_>) {
    let scales: Vec<Action> = pass.legacy.scales().collect();
    pass.actions.extend(scales);
}

/// What is claimed and removed, and when it is looked again. A Deployment goes when it has no Pods; before the last one
/// what its Pods mounted, for nothing tells of that afterwards; and when all is gone, the marks of the Python operator.
pub(super) fn removals(input: &Input<'_>, now: Timestamp, actions: &mut Vec<Action>, wakes: &mut Vec<Timestamp>) {
    let (observed, grace) = (input.observed, input.settings.legacy_grace);
    let legacy = &observed.legacy;
    wakes.extend(look_again(observed).map(|wait| later(now, wait)));
    wakes.extend(
        legacy
            .deployments
            .iter()
            .filter_map(|deployment| deployment.available_at),
    );
    for deployment in &legacy.deployments {
        match deployment.claim(grace, now) {
            Claim::Held => {}
            Claim::Due => actions.push(claim(deployment, now)),
            Claim::Contested { again } if again <= now => actions.push(claim(deployment, now)),
            Claim::Settling { until: again, .. } | Claim::Contested { again } => wakes.push(again),
        }
    }
    if legacy.unreadable.is_some() || legacy.claim(grace, now) != Claim::Held {
        return;
    }
    let over = legacy.deployments.iter().all(LegacyDeployment::is_empty) && !has_pods(observed);
    if over {
        actions.extend(config_maps(observed));
    }
    let empty = legacy.deployments.iter().filter(|deployment| deployment.is_empty());
    actions.extend(empty.filter(|deployment| !deployment.deleting).map(delete));
    let is_gone = over && legacy.deployments.is_empty() && legacy.config_maps.is_empty();
    // Both replace the finalizers as a whole: the other one goes first.
    let changes_finalizers = actions
        .iter()
        .any(|action| matches!(action, Action::AddFinalizer | Action::RemoveFinalizer));
    if is_gone && legacy.has_marks && !changes_finalizers {
        actions.push(Action::RemoveLegacyMarks);
    }
}

fn claim(deployment: &LegacyDeployment, now: Timestamp) -> Action {
    Action::ClaimLegacy(ClaimLegacy {
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        uid: deployment.uid.clone(),
        resource_version: deployment.resource_version.clone(),
        replicas: deployment.given,
        at: whole_seconds(now),
        again: deployment.claimed.is_some(),
    })
}

/// Whether Pods are there that the Python operator made itself, or that run in the old namespace.
fn has_pods(observed: &Observed) -> bool {
    observed.has_legacy_pods() || observed.pods.iter().any(|pod| pod.owner == Owner::OldNamespace)
}

/// When it is looked again at what no event tells of.
pub(super) fn look_again(observed: &Observed) -> Option<SignedDuration> {
    let legacy = &observed.legacy;
    if legacy.unreadable.is_some() {
        return Some(LOOK_SELDOM);
    }
    // How a rolling update gets on is told by events of the Deployment.
    let moves = |deployment: &LegacyDeployment| {
        let shows_more = deployment.shown() > deployment.given && deployment.rolling.is_none();
        shows_more || deployment.terminating > 0 || deployment.is_empty()
    };
    let pods = observed.pods.iter().any(|pod| pod.owner == Owner::OldNamespace);
    if legacy.deployments.iter().any(moves) || pods {
        return Some(LOOK_AGAIN);
    }
    let left = !legacy.deployments.is_empty() || !legacy.config_maps.is_empty();
    (left || observed.is_in_old_namespace()).then_some(LOOK_LATER)
}

/// Deletes the ConfigMaps that no other pipeline's Deployment mounts.
pub(super) fn config_maps(observed: &Observed) -> impl Iterator<Item = Action> {
    let free = observed.legacy.config_maps.iter().filter(|map| map.used_by.is_none());
    free.map(|map| Action::DeleteLegacyConfigMap {
        namespace: map.namespace.clone(),
        name: map.name.clone(),
        uid: map.uid.clone(),
    })
}

/// Deletes a Deployment; it stays until its Pods are gone.
pub(super) fn delete(deployment: &LegacyDeployment) -> Action {
    Action::DeleteLegacy {
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        uid: deployment.uid.clone(),
    }
}
