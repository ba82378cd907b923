//! Everything that can happen: a pass with a crash after any of its writes, Pods, clocks, analyses, faults, edits.
//!
//! Must never decide for the operator: what it writes, whether its deadline runs and whether it counts the 300 s without
//! a primary, its planner says.

mod edits;
mod pods;
mod writes;

use crate::config::Config;
use crate::planner::{Planner, Write};
use crate::state::{Analysis, CANARY, Hidden, PLACES, State, is_available};

pub(crate) use edits::{edit_to, edits};
pub(crate) use writes::Violation;

/// One thing that happens.
pub(crate) struct Step {
    pub(crate) to: State,
    /// What happened, where that was asked for.
    pub(crate) label: String,
    pub(crate) violations: Vec<Violation>,
}

/// The steps from one state.
pub(crate) struct Steps<'a> {
    config: &'a Config,
    from: State,
    /// Only the fair ones.
    fair_only: bool,
    labels: bool,
    all: Vec<Step>,
}

/// All steps from a state: with `fair_only` only what a healthy cluster does with a silent user; with `labels` in words.
pub(crate) fn steps(from: &State, config: &Config, planner: &dyn Planner, fair_only: bool, labels: bool) -> Vec<Step> {
    let mut from_here = Steps {
        config,
        from: *from,
        fair_only,
        labels,
        all: Vec::new(),
    };
    let (deadline_runs, counts_300s) = from_here.operator(planner);
    from_here.pods();
    from_here.legacy();
    from_here.clocks(deadline_runs, counts_300s);
    from_here.analysis();
    if let (false, Some(count)) = (fair_only, crate::config::one_more(from.edits, config.edits)) {
        let edited = State { edits: count, ..*from };
        edits(&edited, config, &mut |to, label| {
            from_here.push(to, || label.to_owned());
        });
    }
    from_here.all
}

/// Clocks whose condition holds no longer begin anew; marks of Pods that are gone go.
pub(crate) fn normalize(state: &mut State) {
    let serves = (0..CANARY).any(|at| state.places[at].is_available() || is_available(state.second_of(at)));
    if serves || !state.wants_canary() || state.current == 0 {
        state.nothing_to_protect = false;
    }
    for place in 0..PLACES {
        if state.places[place].live == 0 {
            state.foreign &= !(1 << place);
        }
    }
}

impl Steps<'_> {
    fn push(&mut self, to: State, label: impl Fn() -> String) {
        self.push_judged(to, label, Vec::new());
    }

    fn push_judged(&mut self, mut to: State, label: impl Fn() -> String, violations: Vec<Violation>) {
        normalize(&mut to);
        if to != self.from || !violations.is_empty() {
            let label = if self.labels { label() } else { String::new() };
            self.all.push(Step { to, label, violations });
        }
    }

    /// A fault, as long as the bound allows another.
    fn fault(&mut self, change: impl Fn(&mut State), label: impl Fn() -> String) {
        if self.fair_only {
            return;
        }
        let Some(faults) = crate::config::one_more(self.from.faults, self.config.faults) else {
            return;
        };
        let mut to = State { faults, ..self.from };
        change(&mut to);
        self.push(to, || format!("FAULT {}", label()));
    }

    /// A pass, whole or with a crash after any of its writes. Gives whether the deadline runs, and the 300 s.
    fn operator(&mut self, planner: &dyn Planner) -> (bool, bool) {
        let pass = planner.pass(&self.from);
        let mut to = self.from;
        let mut violations = Vec::new();
        for (index, write) in pass.writes.iter().enumerate() {
            let before = to;
            writes::apply(&mut to, &self.from, &pass.status, *write, self.config, &mut violations);
            let whole = index + 1 == pass.writes.len();
            if self.fair_only && !whole {
                continue;
            }
            let done = pass.writes.iter().take(index + 1);
            let text = || {
                let words: Vec<_> = done.clone().map(|write| write.text()).collect();
                format!("operator: {}{}", words.join(", "), if whole { "" } else { " -- CRASH" })
            };
            let mut after = State { hidden: None, ..to };
            if !whole {
                after.tried = 0;
            }
            self.push_judged(after, text, violations.clone());
            let may_hide = self.config.stale && !self.fair_only && whole && self.from.hidden.is_none();
            if let (true, Some(hidden)) = (may_hide, hides(*write, &before)) {
                let after = State {
                    hidden: Some(hidden),
                    ..to
                };
                let label = || format!("{} (the cache does not show the last write)", text());
                self.push_judged(after, label, violations.clone());
            }
        }
        if self.from.hidden.is_some() {
            let to = State {
                hidden: None,
                ..self.from
            };
            self.push(to, || "the cache catches up".to_owned());
        }
        (pass.deadline_runs, pass.counts_300s)
    }

    fn clocks(&mut self, deadline_runs: bool, counts_300s: bool) {
        let from = self.from;
        // With `Rollback` a deadline is no part of a healthy rollout.
        if deadline_runs && !from.past_deadline && !(self.fair_only && self.config.rollback) {
            let to = State {
                past_deadline: true,
                ..from
            };
            let stood = from.wanted() == 0 && from.current != 0;
            let judged = stood.then(|| Violation::new("S7 the deadline passes while no Pod is wanted", String::new()));
            self.push_judged(to, || "the deadline passes".to_owned(), judged.into_iter().collect());
        }
        if counts_300s && !from.nothing_to_protect {
            let to = State {
                nothing_to_protect: true,
                ..from
            };
            self.push(to, || "300 s pass without an available primary".to_owned());
        }
    }

    /// An analysis says something only while a Pod of the update revision is available and the rollout runs.
    fn analysis(&mut self) {
        let from = self.from;
        let measures = from.revision != from.current && from.lives().any(|live| live == from.revision + 3);
        if !self.config.analysis || !measures {
            return;
        }
        let with = |analysis| {
            let mut to = from;
            to.analysis = analysis;
            to
        };
        if from.analysis == Analysis::Pending {
            self.push(with(Analysis::Passed), || "the analysis passes".to_owned());
        }
        if from.analysis != Analysis::Failed && !self.fair_only {
            self.push(with(Analysis::Failed), || "the analysis fails".to_owned());
        }
    }
}

/// What the cache may not show of a write.
fn hides(write: Write, before: &State) -> Option<Hidden> {
    match write {
        Write::Create(place, _) => (before.places[place].live == 0).then_some(Hidden { place, deleted: 0 }),
        Write::Delete { place, second: false } => {
            let deleted = before.places[place].live;
            (deleted > 0 && before.second_of(place) == 0).then_some(Hidden { place, deleted })
        }
        _ => None,
    }
}
