//! What holds a rollout, and where it stands in one word.

use super::Judge;
use crate::core::plan::facts::{Failed, Hold, HoldBy, Phase};
use crate::core::plan::gate::Gate;
use crate::core::plan::goal::Goal;

impl Judge<'_> {
    /// What holds the rollout, as far as the clock of the deadline asks.
    pub(super) fn holds(&self, goal: &Goal, gate: &Gate) -> Vec<Hold> {
        let mut holds = Vec::new();
        if self.wanted.suspend {
            self.hold(&mut holds, HoldBy::Suspended, "suspend is set".to_owned());
        } else if goal.budget.wanted == 0 {
            self.hold(&mut holds, HoldBy::ScaledToZero, "replicas is 0".to_owned());
        }
        if self.wanted.paused && goal.budget.wanted > 0 && self.is_rolling(goal) {
            self.hold(&mut holds, HoldBy::Paused, "rollout.paused is set".to_owned());
        }
        match gate {
            Gate::Open | Gate::Opens => {}
            Gate::AwaitingCanary => {
                self.hold(
                    &mut holds,
                    HoldBy::GateCanary,
                    "the canary is not available yet".to_owned(),
                );
            }
            Gate::AwaitingAnalysis(message) => self.hold(&mut holds, HoldBy::GateAnalysis, message.clone()),
        }
        holds
    }

    pub(super) fn later_holds(&self, goal: &Goal, failed: Option<&Failed>, holds: &mut Vec<Hold>) {
        if goal.past_deadline && self.is_timed(goal) {
            let seconds = self.wanted.progress_deadline.as_secs();
            self.hold(holds, HoldBy::Deadline, format!("no progress within {seconds} s"));
        }
        if let Some(failed) = failed {
            let until = if goal.failed_in_place {
                "it holds where it stands".to_owned()
            } else {
                format!("{} is what runs until the spec changes", goal.wanted)
            };
            holds.push(Hold {
                by: HoldBy::Failed,
                since: failed.at,
                message: format!(
                    "revision {} failed ({}); {until}",
                    failed.revision,
                    failed.why.in_words()
                ),
            });
        }
    }

    /// One that goes on keeps the time at which it began; what is about a revision begins anew with another.
    pub(super) fn hold(&self, holds: &mut Vec<Hold>, by: HoldBy, message: String) {
        let goes_on = |hold: &&Hold| hold.by == by && (!self.is_new || by.is_of_the_spec());
        let since = self
            .before
            .holds
            .iter()
            .find(goes_on)
            .map_or_else(|| self.mark(), |hold| hold.since);
        holds.push(Hold { by, since, message });
    }

    /// Where the rollout stands, in one word; a failure before all that it outlasts.
    pub(super) fn phase(&self, goal: &Goal, gate: &Gate) -> Phase {
        if self.wanted.revision.is_none() {
            Phase::Stalled
        } else if goal.failed {
            if goal.failed_in_place {
                Phase::Failed
            } else {
                Phase::RolledBack
            }
        } else if goal.budget.wanted == 0 {
            Phase::Suspended
        } else if self.is_done(goal) && goal.gate_open {
            Phase::Complete
        } else if self.wanted.paused && self.is_rolling(goal) {
            Phase::Paused
        } else if goal.past_deadline {
            Phase::Stalled
        } else if matches!(gate, Gate::AwaitingAnalysis(_)) {
            Phase::AwaitingAnalysis
        } else {
            Phase::Progressing
        }
    }
}
