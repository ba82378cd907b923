//! Planted defects: the product's planner with one sentence of the rules taken away, by a change of what it is shown or
//! of what it says. The exploration must find each; otherwise it proves nothing.
//!
//! Must never reach into the product.

use crate::config::Config;
use crate::planner::{Pass, Planner, Write};
use crate::rules;
use crate::state::{Analysis, CANARY, PLACES, State};

/// A sentence of the rules that is taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    /// "An empty canary place gets the wanted revision": it gets the current one while the gate is shut.
    CanaryBehindItsOwnGate,
    /// "Past the deadline a step is held while an updated Pod is unavailable": it is held in any case.
    DeadlineHoldsForEver,
    /// "A revision completes when at least one Pod is wanted": it completes without.
    CompletesWithoutPods,
    /// "A failed Pod beside a live one is removed": the live one goes, if the failed one had the wanted revision.
    KeepsTheFailedOne,
    /// "A new update revision clears what was recorded of the one before": it does not.
    NothingIsCleared,
    /// "The clock stands still while no Pod is wanted": it runs.
    ClockRunsAtZero,
    /// "The 300 s without an available primary are not recorded": they open the gate for good.
    GateOpensForGood,
    /// "The current revision never fails": it does.
    CurrentFails,
    /// "Facts are written before the Pods that they allow": after them.
    FactsLast,
    /// "The canary is updated within the budget": only not as the last available Pod.
    CanaryBelowTheFloor,
    /// "A predecessor's available Pods go within the budget": at once.
    PredecessorsAtOnce,
    /// "While maxUnavailable updated Pods are unavailable, the canary, too, gets the current revision": never.
    CanaryAlwaysUpdated,
    /// "A failed revision's unavailable Pods go at once": they stay.
    FailedStay,
    /// "With one replica the successor is made beside the old Pod": the old Pod goes first.
    NoHandOver,
    /// "maxUnavailable counts as at most replicas - 1": as what it is.
    AllUnavailable,
    /// "A failed Pod of the wanted revision comes back as current beyond maxUnavailable": as it was.
    FailedComeBack,
    /// "A failed successor stays beside the old Pod, and counts": it is removed at once.
    SuccessorForgotten,
    /// "The old Pod that is lost in a hand-over is made again": it is not.
    OldPodForgotten,
    /// "The Pod that takes over from a surplus Pod is made although the place is taken": it waits.
    NoTakeOver,
    /// "A scale down keeps an available Pod while the floor needs it": it does not.
    ScalesBelowTheFloor,
    /// "Unavailable legacy consumers go without the budget": within it.
    LegacyNeverFree,
    /// "Ours is made beside the only legacy consumer": it waits.
    NoLegacyHandOver,
    /// "Legacy consumers go within the budget": all at once.
    LegacyAtOnce,
    /// "Paused holds the legacy steps": it does not.
    LegacyWhilePaused,
    /// "Nothing is taken off a Deployment in a rolling update": as of any other.
    LegacyUpdateIgnored,
}

impl Defect {
    pub(crate) const ALL: [Self; 25] = [
        Self::CanaryBehindItsOwnGate,
        Self::DeadlineHoldsForEver,
        Self::CompletesWithoutPods,
        Self::KeepsTheFailedOne,
        Self::NothingIsCleared,
        Self::ClockRunsAtZero,
        Self::GateOpensForGood,
        Self::CurrentFails,
        Self::FactsLast,
        Self::CanaryBelowTheFloor,
        Self::PredecessorsAtOnce,
        Self::CanaryAlwaysUpdated,
        Self::FailedStay,
        Self::NoHandOver,
        Self::AllUnavailable,
        Self::FailedComeBack,
        Self::SuccessorForgotten,
        Self::OldPodForgotten,
        Self::NoTakeOver,
        Self::ScalesBelowTheFloor,
        Self::LegacyNeverFree,
        Self::NoLegacyHandOver,
        Self::LegacyAtOnce,
        Self::LegacyWhilePaused,
        Self::LegacyUpdateIgnored,
    ];
}

/// A planner with a defect.
pub(crate) struct Planted<'a> {
    pub(crate) sound: &'a dyn Planner,
    pub(crate) defect: Defect,
    pub(crate) config: Config,
}

impl Planner for Planted<'_> {
    fn pass(&self, seen: &State) -> Pass {
        let mut pass = self.sound.pass(&self.shown(seen));
        let view = View::new(seen, &pass, &self.config);
        match self.defect {
            Defect::CompletesWithoutPods
            | Defect::GateOpensForGood
            | Defect::CurrentFails
            | Defect::NothingIsCleared => {
                self.spoil_facts(&mut pass, seen);
            }
            Defect::ClockRunsAtZero => {
                let rolls = seen.wanted() == 0 && rules::is_rolling(seen);
                pass.deadline_runs |= rolls && !seen.past_deadline;
            }
            Defect::FactsLast => pass.writes.sort_by_key(|write| *write == Write::Status),
            _ => pass.writes = self.spoil_writes(pass.writes, &view),
        }
        pass
    }
}

impl Planted<'_> {
    /// What the sound planner is shown.
    fn shown(&self, seen: &State) -> State {
        let mut shown = *seen;
        match self.defect {
            Defect::NothingIsCleared => shown.update = seen.revision,
            Defect::SuccessorForgotten if forgets(seen) => shown.places[0].failed = 0,
            Defect::LegacyUpdateIgnored if seen.legacy.rolling => {
                shown.legacy.rolling = false;
                shown.legacy.unavailable = 0;
            }
            _ => {}
        }
        shown
    }

    fn spoil_facts(&self, pass: &mut Pass, seen: &State) {
        let status = &mut pass.status;
        match self.defect {
            Defect::CompletesWithoutPods if seen.wanted() == 0 && !status.goal().1 => status.current = seen.revision,
            Defect::GateOpensForGood if seen.nothing_to_protect => status.gate_opened_for = seen.revision,
            Defect::CurrentFails if seen.revision == seen.current => {
                let late = seen.past_deadline && self.config.rollback;
                if late || seen.analysis == Analysis::Failed {
                    status.failed = seen.revision;
                }
            }
            _ => {}
        }
        let writes_it = pass.writes.contains(&Write::Status);
        if *status != *seen && !writes_it {
            pass.writes.insert(0, Write::Status);
        }
    }

    fn spoil_writes(&self, writes: Vec<Write>, view: &View) -> Vec<Write> {
        let more = self.more_writes(&writes, view);
        let (facts, others): (Vec<_>, Vec<_>) = writes.into_iter().partition(|write| *write == Write::Status);
        let mut live = view.seen.places.map(|there| u8::from(there.live > 0));
        let mut all = Vec::new();
        for write in facts.into_iter().chain(more).chain(others) {
            let Some(write) = self.instead(write, view, live) else {
                continue;
            };
            // What is there already is not made, and what is gone not deleted.
            let done = match write {
                Write::Delete { place, second: false } => live[place] == 0,
                Write::Create(place, _) => live[place] > 0,
                _ => false,
            };
            if done {
                continue;
            }
            match write {
                Write::Delete { place, second: false } => live[place] = 0,
                Write::Create(place, _) => live[place] = 1,
                _ => {}
            }
            all.push(write);
        }
        all
    }

    /// What is written besides, and first.
    fn more_writes(&self, writes: &[Write], view: &View) -> Vec<Write> {
        let seen = &view.seen;
        let delete = |place| Write::Delete { place, second: false };
        let dry = writes.iter().any(|write| matches!(write, Write::DryRun(_)));
        let outdated = |place: usize| view.is_outdated(place) && !view.frozen && !dry;
        let available = |place: usize| seen.places[place].is_available();
        let goes = |place: &usize| match self.defect {
            Defect::CanaryBelowTheFloor => {
                *place == CANARY && outdated(CANARY) && available(CANARY) && seen.available() > 1
            }
            Defect::PredecessorsAtOnce => seen.is_foreign(*place) && seen.wanted() > 0,
            Defect::CanaryAlwaysUpdated => *place == CANARY && outdated(CANARY) && !available(CANARY),
            Defect::NoHandOver => *place == 0 && outdated(0) && self.config.hands_over(seen.wanted()),
            Defect::AllUnavailable => {
                let all = seen.wanted() > 1 && self.config.max_unavailable >= seen.wanted();
                all && *place != CANARY && outdated(*place) && view.open
            }
            Defect::ScalesBelowTheFloor => seen.wanted() > 0 && !seen.is_wanted(*place) && seen.places[*place].live > 0,
            _ => false,
        };
        let forgotten = self.defect == Defect::SuccessorForgotten && forgets(seen);
        let removed = forgotten.then_some(Write::RemoveFailed(0));
        let paused = self.defect == Defect::LegacyWhilePaused && seen.paused && seen.wanted() > 0;
        let taken = seen.legacy.given.checked_sub(1).filter(|_| paused).map(Write::Scale);
        let deletes = (0..PLACES).filter(goes).map(delete);
        deletes.chain(removed).chain(taken).collect()
    }

    /// What is written in place of a write; `live` says where a live Pod is by then.
    fn instead(&self, write: Write, view: &View, live: [u8; PLACES]) -> Option<Write> {
        let seen = &view.seen;
        let there = |place: usize| seen.places[place];
        Some(match (self.defect, write) {
            (Defect::CanaryBehindItsOwnGate, Write::Create(CANARY, _)) if !view.open => {
                Write::Create(CANARY, view.current)
            }
            (Defect::DeadlineHoldsForEver, Write::Delete { place, second: false }) => {
                let current = there(place).revision() == view.current && view.wanted != view.current;
                let held = view.past_deadline && !view.failed && there(place).is_available() && current;
                if held && seen.is_wanted(place) {
                    return None;
                }
                write
            }
            (Defect::KeepsTheFailedOne, Write::RemoveFailed(place)) => {
                let other = there(place).is_unavailable() && there(place).revision() != view.wanted;
                if other && there(place).failed == view.wanted && seen.second_of(place) == 0 {
                    Write::Delete { place, second: false }
                } else {
                    write
                }
            }
            (Defect::CanaryAlwaysUpdated, Write::Create(CANARY, _)) if !view.frozen && !view.failed => {
                Write::Create(CANARY, view.wanted)
            }
            (Defect::FailedStay, Write::Delete { place, second: false }) => {
                let of_failed =
                    view.failed && there(place).is_unavailable() && there(place).revision() == seen.revision;
                if of_failed && !self.config.rollback && seen.is_wanted(place) {
                    return None;
                }
                write
            }
            (Defect::NoHandOver, Write::Beside(..)) => return None,
            (Defect::FailedComeBack, Write::Create(place, _))
                if there(place).failed == view.wanted && !view.frozen && !view.failed =>
            {
                Write::Create(place, view.wanted)
            }
            (Defect::OldPodForgotten, Write::Beside(_, revision)) if revision != view.wanted => return None,
            (Defect::LegacyNeverFree, Write::Scale(_)) => {
                let surplus = seen.live() + seen.waiting() + seen.legacy.given > seen.wanted();
                let affordable = seen.available() > self.config.floor(seen.wanted());
                if !surplus && !affordable {
                    return None;
                }
                write
            }
            (Defect::NoLegacyHandOver, Write::Create(..)) if seen.wanted() == 1 && seen.legacy.live() == 1 => {
                return None;
            }
            (Defect::LegacyAtOnce, Write::Scale(_)) => Write::Scale(0),
            (Defect::NoTakeOver, Write::Create(..)) if seen.wanted() == 1 && live.iter().sum::<u8>() > 0 => {
                return None;
            }
            _ => write,
        })
    }
}

/// A failed successor beside the old Pod, where one Pod is wanted.
fn forgets(seen: &State) -> bool {
    seen.wanted() == 1 && seen.places[0].failed > 0 && seen.places[0].live > 0
}

/// What a defect needs to know of a pass.
#[allow(clippy::struct_excessive_bools, reason = "independent facts of a pass")]
struct View {
    seen: State,
    wanted: u8,
    current: u8,
    failed: bool,
    frozen: bool,
    open: bool,
    past_deadline: bool,
}

impl View {
    fn new(seen: &State, pass: &Pass, config: &Config) -> Self {
        let (wanted, failed) = pass.status.goal();
        let current = pass.status.current;
        Self {
            seen: *seen,
            wanted,
            current: if current == 0 { wanted } else { current },
            failed,
            frozen: seen.paused || (failed && !config.rollback),
            open: rules::gate_is_open(config, &pass.status),
            past_deadline: pass.status.past_deadline,
        }
    }

    /// One live Pod of another revision than wanted, and none terminating.
    fn is_outdated(&self, place: usize) -> bool {
        let there = self.seen.places[place];
        let other = there.revision() != self.wanted || self.seen.is_foreign(place);
        let alone = self.seen.second_of(place) == 0 && there.terminating == 0;
        self.seen.is_wanted(place) && there.live > 0 && other && alone
    }
}
