//! What the planner decided, as writes of the model.
//!
//! Must never leave an action out: one that the model has no word for ends the run.

use streaming_operator::core::names::{Revision, WorkloadSet};
use streaming_operator::core::plan::{Action, Decision, Facts, PodPlan};

use super::DEADLINE;
use super::objects::{at, revision_number};
use crate::planner::{Pass, Write};
use crate::state::{CANARY, State, number};

/// The decision on a state as a pass of the model.
pub(super) fn pass(seen: &State, decision: &Decision, deadline_runs: bool) -> Pass {
    let status = with(seen, &decision.facts);
    let mut writes = Vec::new();
    if decision.facts_first {
        writes.push(Write::Status);
    }
    let mut live = (0..)
        .zip(seen.places)
        .map(|(place, there)| u8::from(there.live > 0) + u8::from(seen.second_of(place) > 0))
        .collect::<Vec<u8>>();
    for action in &decision.actions {
        let write = write(action, &live);
        match write {
            Write::Delete { place, .. } => live[place] -= 1,
            Write::Create(place, _) | Write::Beside(place, _) => live[place] += 1,
            _ => {}
        }
        writes.push(write);
    }
    // Facts that allow no write of this pass are written after all others.
    if !decision.facts_first && status != *seen {
        writes.push(Write::Status);
    }
    Pass {
        writes,
        status,
        deadline_runs,
        counts_300s: decision.facts.no_primary_since.is_some(),
    }
}

/// The state with these facts in its status.
fn with(seen: &State, facts: &Facts) -> State {
    let number = |revision: &Option<Revision>| revision.as_ref().map_or(0, revision_number);
    let past = facts
        .last_progress
        .is_some_and(|last| at(0).duration_since(last) >= DEADLINE);
    State {
        update: number(&facts.update_revision),
        current: number(&facts.current_revision),
        gate_opened_for: number(&facts.gate_opened_for),
        failed: facts
            .failed
            .as_ref()
            .map_or(0, |failed| revision_number(&failed.revision)),
        past_deadline: past,
        ..*seen
    }
}

fn write(action: &Action, live: &[u8]) -> Write {
    match action {
        Action::CreatePod(plan) => {
            let place = place_of(plan);
            let revision = revision_number(&plan.revision);
            if live[place] == 0 {
                Write::Create(place, revision)
            } else {
                Write::Beside(place, revision)
            }
        }
        Action::DeletePod(delete) => {
            let parts = delete.uid.split_once('/');
            let place = |text: &str| text.parse::<usize>().expect("a place");
            match parts {
                Some((at, "first")) => Write::Delete {
                    place: place(at),
                    second: false,
                },
                Some((at, "second")) => Write::Delete {
                    place: place(at),
                    second: true,
                },
                Some((at, "failed")) => Write::RemoveFailed(place(at)),
                _ => panic!("a Pod is deleted that is none of the model: {delete:?}"),
            }
        }
        Action::DryRunPod(plan) => Write::DryRun(revision_number(&plan.revision)),
        Action::MarkCompleted { revision, .. } => Write::Mark(revision_number(revision)),
        Action::ScaleLegacy(scale) => Write::Scale(number(scale.to)),
        Action::SetBackLegacy(_) => Write::SetBack,
        Action::DeleteLegacy { .. } => Write::DeleteLegacy,
        Action::AddFinalizer
        | Action::RemoveFinalizer
        | Action::CreateRevision { .. }
        | Action::CreateConfigMap { .. }
        | Action::DeleteConfigMap { .. }
        | Action::DeleteRevision { .. }
        | Action::ClaimLegacy(_)
        | Action::DeleteLegacyConfigMap { .. }
        | Action::RemoveLegacyMarks => panic!("the model has no such object: {action:?}"),
    }
}

fn place_of(plan: &PodPlan) -> usize {
    match plan.set {
        WorkloadSet::Canary => CANARY,
        WorkloadSet::Primary => usize::from(plan.name.ordinal.get()),
    }
}
