//! Where the rollout stands: the facts of this pass, and the goal that follows from them.
//!
//! Must never look at what is about to be done; facts are about what is there.

mod holds;
mod orders;

use jiff::Timestamp;

use crate::core::in_flight::DryRun;
use crate::core::names::{Revision, WorkloadSet};
use crate::core::observed::{Owner, PodState};
use crate::core::settings::{later, whole_seconds};

use super::budget::Budget;
use super::deadline::Clock;
use super::facts::{Facts, Failed, FailedWhy, Hold, HoldBy, Phase};
use super::fleet::{Fleet, Slot, is_wanted};
use super::gate::{self, Conditions, Gate};
use super::goal::Goal;
use super::wanted::{Orders, Wanted};
use super::{AnalysisVerdict, Input, order, recorded};

/// Whether the first Pod of the wanted revision is sent as a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// Not now.
    NotDue,
    /// Now, for the first time since the operator started.
    First,
    /// Now, for there was no answer, or the last one was a refusal.
    Again,
}

/// Where the rollout stands.
pub(super) struct Stand {
    pub(super) facts: Facts,
    pub(super) goal: Goal,
    /// Whether the first Pod of the wanted revision is to be sent as a dry run now.
    pub(super) dry_run: Trial,
    /// When something changes by time alone.
    pub(super) wakes: Vec<Timestamp>,
}

/// Judges where the rollout stands; `None` when there is no revision of which a Pod could be made.
pub(super) fn judge(input: &Input<'_>, wanted: &Wanted, orders: &Orders, now: Timestamp) -> Option<Stand> {
    let before = recorded::facts(input.previous);
    let current = current_revision(input, wanted, &before);
    let update = wanted.revision.clone().or_else(|| {
        // A spec that cannot be rendered has no revision; the last one that could is held where it stands.
        let stored = before
            .update_revision
            .clone()
            .filter(|revision| input.observed.stored(revision).is_some());
        stored.or_else(|| current.clone())
    })?;
    let fleet = Fleet::new(input.observed);
    let judge = Judge {
        input,
        wanted,
        orders,
        now,
        is_new: before.update_revision.as_ref() != Some(&update),
        before,
        current,
        update,
        fleet,
    };
    Some(judge.stand())
}

/// The revision that last completed: as recorded, or after a lost status the one whose ControllerRevision says so last.
/// One that is stored no more cannot be made again, and counts as none.
fn current_revision(input: &Input<'_>, wanted: &Wanted, before: &Facts) -> Option<Revision> {
    let ours = || {
        input
            .observed
            .revisions
            .iter()
            .filter(|stored| stored.owner == Owner::Ours && !stored.deleting)
    };
    let makeable =
        |revision: &Revision| wanted.revision.as_ref() == Some(revision) || input.observed.stored(revision).is_some();
    before.current_revision.clone().filter(makeable).or_else(|| {
        let completed = ours().filter(|stored| stored.completed.is_some() && stored.revision.is_some());
        completed
            .max_by_key(|stored| (stored.completed, &stored.uid))
            .and_then(|stored| stored.revision.clone())
    })
}

struct Judge<'a> {
    input: &'a Input<'a>,
    wanted: &'a Wanted,
    orders: &'a Orders,
    now: Timestamp,
    is_new: bool,
    before: Facts,
    current: Option<Revision>,
    update: Revision,
    fleet: Fleet<'a>,
}

impl Judge<'_> {
    fn stand(self) -> Stand {
        let mut failed = self.failed_before();
        let no_primary_since = self.no_primary_since();
        let mut goal = self.goal(failed.as_ref());
        let mut gate = self.gate(&goal, no_primary_since);
        let mut holds = self.holds(&goal, &gate);
        let (clock, past) = self.clock(&goal, &gate, &holds);
        if failed.is_none() && past && self.may_fail() && self.wanted.rolls_back() {
            failed = Some(self.failure(FailedWhy::ProgressDeadlineExceeded));
            goal = self.goal(failed.as_ref());
            gate = self.gate(&goal, no_primary_since);
            holds = self.holds(&goal, &gate);
        }
        goal.gate_open = gate.is_open();
        goal.past_deadline = past && failed.is_none();
        let mut current = self.current.clone();
        let gate_opened_for = self.gate_opened_for(&gate);
        let complete = goal.gate_open && self.wanted.revision.is_some() && self.is_done(&goal);
        if complete && !goal.failed {
            current = Some(goal.wanted.clone());
            goal.current.clone_from(&current);
            goal.past_deadline = false;
            holds.clear();
        }
        let mut wakes = self.wakes(&goal, &clock, no_primary_since);
        let dry_run = self.dry_run(&mut goal, &mut holds, &mut wakes);
        self.later_holds(&goal, failed.as_ref(), &mut holds);
        let phase = self.phase(&goal, &gate);
        let returns_to = self.is_returning() && phase != Phase::Complete;
        let facts = Facts {
            returns_to: returns_to.then(|| self.update.clone()),
            answered_abort: self.abort(),
            update_revision: Some(self.update.clone()),
            current_revision: current,
            gate_opened_for,
            last_progress: Some(whole_seconds(clock.last_progress)),
            no_primary_since,
            generations: self.before.generations.clone(),
            phase,
            failed,
            holds,
        };
        Stand {
            facts,
            goal,
            dry_run,
            wakes,
        }
    }

    /// The failure of the spec's revision that stands, or comes from a person or an analysis now.
    fn failed_before(&self) -> Option<Failed> {
        let resumed = self.resumed();
        let standing = self
            .before
            .failed
            .clone()
            .filter(|failed| failed.revision == self.update && !self.is_new)
            .filter(|failed| resumed.is_none_or(|time| time < failed.at));
        if !self.may_fail() {
            return None;
        }
        let was_aborted = standing.as_ref().is_some_and(|failed| failed.why == FailedWhy::Aborted);
        if self.is_aborted_now() && !was_aborted {
            return Some(self.failure(FailedWhy::Aborted));
        }
        match self.input.analysis {
            AnalysisVerdict::Failed(_) if standing.is_none() => Some(self.failure(FailedWhy::AnalysisFailed)),
            _ => standing,
        }
    }

    /// Whether an edit returns to the revision that last completed, and that was not reached yet when last looked at.
    fn is_returning(&self) -> bool {
        let begins = self.is_new && self.before.update_revision.is_some();
        let goes_on = self.before.returns_to.as_ref() == Some(&self.update);
        !self.may_fail() && self.current.is_some() && (begins || goes_on)
    }

    /// The time as it is recorded: in whole seconds, as everywhere in Kubernetes.
    fn mark(&self) -> Timestamp {
        whole_seconds(self.now)
    }

    /// Whether there is another revision to hold on to. The current one never fails.
    fn may_fail(&self) -> bool {
        self.current.as_ref().is_some_and(|current| *current != self.update)
    }

    fn failure(&self, why: FailedWhy) -> Failed {
        Failed {
            revision: self.update.clone(),
            why,
            at: self.mark(),
        }
    }

    fn goal(&self, failed: Option<&Failed>) -> Goal {
        let goes_back = failed.is_some_and(|failed| failed.why == FailedWhy::Aborted || self.wanted.rolls_back());
        let unrendered = self.wanted.revision.is_none();
        let back = (failed.is_some() || unrendered).then(|| self.current.clone()).flatten();
        let failed_in_place = failed.is_some() && !goes_back && !unrendered;
        Goal {
            wanted: back.unwrap_or_else(|| self.update.clone()),
            current: self.current.clone(),
            update: self.update.clone(),
            failed: failed.is_some(),
            failed_in_place,
            frozen: self.wanted.paused || unrendered || failed_in_place,
            gate_open: false,
            past_deadline: false,
            restart_before: self.wanted.restart_at.filter(|time| *time <= self.now),
            policy: self.wanted.policy,
            budget: Budget::new(self.wanted),
            canaries: self.wanted.count(WorkloadSet::Canary),
            primaries: self.wanted.count(WorkloadSet::Primary),
        }
    }

    /// Since when no primary Pod has been available, where a gate could wait for one.
    fn no_primary_since(&self) -> Option<Timestamp> {
        let gated = self.wanted.count(WorkloadSet::Canary) > 0 && self.current.is_some();
        let serves = self
            .input
            .observed
            .pods
            .iter()
            .any(|pod| pod.is_available() && pod.place.is_some_and(|(set, _)| set == WorkloadSet::Primary));
        (gated && !serves).then(|| self.before.no_primary_since.unwrap_or_else(|| self.mark()))
    }

    fn gate(&self, goal: &Goal, no_primary_since: Option<Timestamp>) -> Gate {
        let over = |since: Timestamp| self.now >= later(since, self.input.settings.gate_grace);
        let conditions = Conditions {
            opened_for: self.before.gate_opened_for.as_ref().filter(|_| !self.is_new),
            promoted: self.orders.promote.as_ref() == Some(&goal.wanted),
            completed: self
                .input
                .observed
                .stored(&goal.wanted)
                .is_some_and(|stored| stored.completed.is_some()),
            nothing_to_protect: no_primary_since.is_some_and(over),
            analysis: self.input.analysis,
            require_analysis: self.wanted.require_analysis,
        };
        match gate::judge(goal, &self.fleet, &conditions) {
            // On the way back nothing is recorded: the gate is open for the current revision as it is.
            Gate::Opens if goal.wanted != self.update => Gate::Open,
            gate => gate,
        }
    }

    /// Recorded for the spec's revision only, and kept while it is that.
    fn gate_opened_for(&self, gate: &Gate) -> Option<Revision> {
        let kept = self.before.gate_opened_for.clone().filter(|_| !self.is_new);
        if *gate == Gate::Opens {
            Some(self.update.clone())
        } else {
            kept
        }
    }

    /// Whether anything of another revision is left, or the spec's revision has not completed.
    fn is_rolling(&self, goal: &Goal) -> bool {
        let unlike = |slot: &Slot<'_>| slot.live.iter().any(|pod| !goal.is_final(pod));
        let left = self.fleet.slots().any(|(_, slot)| unlike(slot)) || self.has_legacy();
        left || self.is_returning() || self.current.as_ref().is_some_and(|current| *current != self.update)
    }

    /// Whether every wanted Pod is there, of the wanted revision and available, and no other live Pod is left.
    fn is_done(&self, goal: &Goal) -> bool {
        let final_ = |slot: &Slot<'_>| slot.only().is_some_and(|pod| pod.available && goal.is_final(pod));
        let all = order::wanted(goal).all(|place| self.fleet.slot(place).is_some_and(final_));
        let none_else = self
            .fleet
            .slots()
            .all(|(place, slot)| slot.live.is_empty() || is_wanted(goal, place));
        goal.budget.wanted > 0 && all && none_else && !self.has_legacy()
    }

    /// Whether consumers of the Python operator are left.
    fn has_legacy(&self) -> bool {
        self.input.observed.legacy.live() > 0
    }

    /// Whether the deadline is judged: a rollout is under way that has not failed. A restart has none.
    fn is_timed(&self, goal: &Goal) -> bool {
        let other = |slot: &Slot<'_>| slot.live.iter().any(|pod| !goal.has_wanted(pod));
        let left = self.fleet.slots().any(|(_, slot)| other(slot)) || self.has_legacy();
        let rolling = self.current.as_ref() != Some(&self.update) || left || self.is_returning();
        rolling && !goal.failed && goal.budget.wanted > 0 && self.wanted.revision.is_some()
    }

    /// The clock of the deadline, and whether it is past.
    fn clock(&self, goal: &Goal, gate: &Gate, holds: &[Hold]) -> (Clock, bool) {
        let updated = self
            .input
            .observed
            .pods
            .iter()
            .filter(|pod| pod.owner == Owner::Ours && pod.revision.as_ref() == Some(&self.update));
        let progress = updated.filter_map(|pod| pod.available_since).max();
        let opens = (*gate == Gate::Opens).then(|| self.mark());
        let last = match self.before.last_progress {
            Some(last) if !self.is_new => [progress, opens, self.resumed()]
                .into_iter()
                .flatten()
                .fold(last, Timestamp::max),
            _ => self.mark(),
        };
        let clock = Clock::new(last, &self.before.holds, holds, self.now);
        let past = self.is_timed(goal) && clock.is_past(self.wanted.progress_deadline, self.now);
        (clock, past)
    }

    fn wakes(&self, goal: &Goal, clock: &Clock, no_primary_since: Option<Timestamp>) -> Vec<Timestamp> {
        let pods = self.input.observed.pods.iter();
        let by_pod = pods.flat_map(|pod| pod.health.wake.into_iter().chain(pod.available_at));
        let deadline = (self.is_timed(goal) && clock.stopped_since.is_none())
            .then(|| clock.deadline(self.wanted.progress_deadline));
        let gate = no_primary_since.map(|since| later(since, self.input.settings.gate_grace));
        let orders = self.orders.resume.as_ref().map(|(_, time)| *time);
        let restart = self.wanted.restart_at;
        by_pod
            .chain(deadline)
            .chain(gate)
            .chain(orders)
            .chain(restart)
            .collect()
    }

    /// Before the first Pod is replaced for a revision, its own first Pod is tried on the API server. Until that is
    /// accepted the rollout is frozen with every old Pod running. Gives whether it is to be tried now.
    fn dry_run(&self, goal: &mut Goal, holds: &mut Vec<Hold>, wakes: &mut Vec<Timestamp>) -> Trial {
        let outdated = |slot: &Slot<'_>| slot.live.iter().any(|pod| !goal.has_wanted(pod));
        let of_ours = order::wanted(goal).any(|place| self.fleet.slot(place).is_some_and(outdated));
        let replaces = of_ours || (self.has_legacy() && goal.budget.wanted > 0);
        let exists = self.input.observed.pods.iter().any(|pod| {
            pod.owner == Owner::Ours && pod.state != PodState::Gone && pod.revision.as_ref() == Some(&goal.wanted)
        });
        if goal.frozen || exists || !replaces {
            return Trial::NotDue;
        }
        match self.input.ledger.dry_run_of(&goal.wanted) {
            Some(DryRun::Accepted) => Trial::NotDue,
            Some(DryRun::Refused { again, .. }) => {
                goal.frozen = true;
                wakes.push(*again);
                let message = "the API server would refuse the first Pod of the revision".to_owned();
                self.hold(holds, HoldBy::DryRun, message);
                if *again <= self.now {
                    Trial::Again
                } else {
                    Trial::NotDue
                }
            }
            Some(DryRun::Asked) => {
                goal.frozen = true;
                Trial::Again
            }
            None => {
                goal.frozen = true;
                Trial::First
            }
        }
    }
}
