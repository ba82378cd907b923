//! From what a pipeline wants and what was seen to what is to be done now.
//!
//! A pass decides from what is there alone: nothing is remembered but what stands in the status, on the objects and in
//! the ledger of own writes, so that a crash after any write leaves a state from which the next pass goes on.
//! Must never touch an object that is not the pipeline's or its predecessor's.

pub mod budget;
pub mod decision;
pub mod facts;
pub mod notices;
pub mod outcome;
pub mod wanted;

mod backoff;
mod deadline;
mod fill;
mod fleet;
mod gate;
mod goal;
mod hand_over;
mod legacy;
mod objects;
mod order;
mod pass;
mod recorded;
mod removal;
mod revision_choice;
mod stand;
mod steps;
mod tidy;

use jiff::{SignedDuration, Timestamp};

use crate::api::StreamingPipelineStatus;

use super::in_flight::Ledger;
use super::observed::legacy::is_out_of_reach;
use super::observed::{NamespaceState, Observed, PipelineFacts};
use super::settings::{Settings, later};

use pass::Pass;
use stand::{Stand, Trial};

pub use backoff::{failures_after, next_try};
pub use decision::{
    Action, ClaimLegacy, CreateReason, Decision, DeleteReason, ObjectReason, PodDelete, PodPlan, Replaced, ScaleLegacy,
    SetBackLegacy,
};
pub use facts::{Facts, Failed, FailedWhy, Hold, HoldBy, Phase};
pub use notices::Notice;
pub use outcome::{ActionResult, Outcome};
pub(crate) use wanted::{BEFORE_THE_FAILURE, LEFT_BEHIND};
pub use wanted::{Bases, Orders, Wanted};

/// What the analyses of a pipeline say of its update revision, all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AnalysisVerdict {
    /// No Enforce analysis names the pipeline.
    #[default]
    None,
    /// At least one has not passed yet; the message says which and why.
    Pending(String),
    /// Every one has passed.
    Passed,
    /// One has failed; the message says which and why.
    Failed(String),
}

/// When a namespace that is missing or on its way out is looked at again. No event tells that it is there again, for
/// namespaces are not watched; a person who makes it waits no longer than this, at one small request for each pipeline.
const NAMESPACE_LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// All that a pass is decided from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The pipeline.
    pub pipeline: &'a PipelineFacts,
    /// What its spec asks for; `None` when that cannot be read at all, so that nothing can be done.
    pub wanted: Option<&'a Wanted>,
    /// What was seen, with the own writes laid over it.
    pub observed: &'a Observed,
    /// The status as stored.
    pub previous: &'a StreamingPipelineStatus,
    /// What is remembered between passes; only its dry runs are looked at.
    pub ledger: &'a Ledger,
    /// What the analyses say.
    pub analysis: &'a AnalysisVerdict,
    /// Graces and back-off.
    pub settings: &'a Settings,
}

/// What is to be done now.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let before = recorded::facts(input.previous);
    if input.pipeline.deleting {
        return Decision {
            actions: removal::actions(input.pipeline, input.observed),
            wake_after: legacy::look_again(input.observed),
            ..nothing(before)
        };
    }
    if input.observed.collision.is_some() {
        // Nothing is told to begin before the names are its own; the pipeline that has them calls when it is gone.
        return nothing(before);
    }
    let orders = Orders::read(&input.pipeline.annotations);
    let Some((wanted, stand)) = input.wanted.and_then(|wanted| {
        let stand = stand::judge(input, wanted, &orders, now)?;
        Some((wanted, stand))
    }) else {
        return nothing(before);
    };
    let Stand {
        facts,
        goal,
        dry_run,
        mut wakes,
    } = stand;
    let mut actions = Vec::new();
    if input.observed.namespace == NamespaceState::Active {
        let generations = facts.generations.clone();
        let mut pass = Pass::new(goal, wanted, &orders, input.observed, generations, input.settings, now);
        if input.observed.legacy.unreadable.is_none() {
            pods(&mut pass, input.observed, dry_run);
        } else if pass.goal.budget.wanted == 0 {
            tidy::drain(&mut pass);
        }
        wakes.append(&mut pass.wakes);
        actions = around(input, wanted, &facts, pass.actions, now);
        legacy::removals(input, now, &mut actions, &mut wakes);
    }
    if input.observed.namespace != NamespaceState::Active {
        wakes.push(later(now, NAMESPACE_LOOK_AGAIN));
    }
    let stale = input.previous.observed_generation != input.pipeline.generation && !actions.is_empty();
    Decision {
        facts_first: stale || changed(&before, &facts),
        notices: notices::of_facts(&before, &facts, &orders, input.observed, wanted.total().into()),
        wake_after: wake_after(&wakes, &actions, now),
        facts,
        actions,
    }
}

/// Plans the writes of Pods, each step on the working copy that the one before left.
fn pods(pass: &mut Pass<'_>, observed: &Observed, dry_run: Trial) {
    tidy::force_stuck(pass, observed);
    tidy::duplicates(pass);
    if pass.goal.budget.wanted == 0 {
        tidy::drain(pass);
        legacy::drain(pass);
        legacy::write(pass);
        return;
    }
    tidy::ended(pass);
    legacy::give_way(pass);
    tidy::surplus(pass);
    let canary_waits = steps::canary_waits(pass);
    if !pass.goal.frozen {
        steps::update(pass, canary_waits);
        steps::restart(pass);
    }
    if pass.goal.failed_in_place && !pass.wanted.paused {
        steps::failed_in_place(pass);
    }
    if dry_run == Trial::First {
        // The answer is there before the next pass: a Pod that is made now, of the current revision, would be moved then,
        // also after a crash between the delete of the first old Pod and the create of its successor. This one pass
        // only, or an answer that never comes would keep places empty.
        pass.dry_run();
        return;
    }
    if !pass.goal.frozen {
        legacy::free(pass);
        legacy::step(pass);
    }
    legacy::write(pass);
    fill::heal(pass);
    fill::empty_places(pass, canary_waits);
    hand_over::begin(pass);
    if dry_run == Trial::Again {
        pass.dry_run();
    }
}

/// Puts the other objects around the writes of Pods: first what Pods need, last what nothing needs any more.
fn around(input: &Input<'_>, wanted: &Wanted, facts: &Facts, pods: Vec<Action>, now: Timestamp) -> Vec<Action> {
    let observed = input.observed;
    let finalizer = match (is_out_of_reach(input.pipeline, observed), input.pipeline.has_finalizer) {
        (true, false) => Some(Action::AddFinalizer),
        (false, true) => Some(Action::RemoveFinalizer),
        _ => None,
    };
    if observed.legacy.unreadable.is_some() {
        // Nothing is created.
        return finalizer.into_iter().chain(pods).collect();
    }
    let before = objects::before_pods(wanted, facts, observed, &pods);
    let unused = objects::unused(wanted, facts, observed, &pods);
    let marked = objects::mark_completed(facts, observed, now);
    finalizer
        .into_iter()
        .chain(before)
        .chain(pods)
        .chain(marked)
        .chain(unused)
        .collect()
}

/// When to look again: at once after a dry run, whose answer no event tells; else when time alone changes something.
fn wake_after(wakes: &[Timestamp], actions: &[Action], now: Timestamp) -> Option<SignedDuration> {
    if actions.iter().any(|action| matches!(action, Action::DryRunPod(_))) {
        return Some(SignedDuration::ZERO);
    }
    let takes = actions
        .iter()
        .any(|action| matches!(action, Action::ScaleLegacy(_) | Action::SetBackLegacy(_)));
    let scaled = takes.then(|| later(now, legacy::LOOK_AGAIN));
    wakes
        .iter()
        .chain(&scaled)
        .filter(|at| **at > now)
        .min()
        .map(|at| at.duration_since(now))
}

/// Whether the facts differ in what an action may follow from.
fn changed(before: &Facts, after: &Facts) -> bool {
    before.update_revision != after.update_revision
        || before.current_revision != after.current_revision
        || before.gate_opened_for != after.gate_opened_for
        || before.failed != after.failed
}

/// The facts stay as they are, and nothing is done.
const fn nothing(facts: Facts) -> Decision {
    Decision {
        facts,
        facts_first: false,
        actions: Vec::new(),
        notices: Vec::new(),
        wake_after: None,
    }
}

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;
