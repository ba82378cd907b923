//! Breadth-first search of everything that can happen, so that the first trace to a violation is a shortest one; then,
//! from every state found, proof that a healthy cluster with a silent user comes to a good end.

mod goals;
mod liveness;
mod set;
mod trace;
mod zero;

use std::collections::BTreeMap;

use crate::config::Config;
use crate::planner::Planner;
use crate::state::State;
use crate::world::{Step, normalize, steps};

use set::Set;

/// No state led here: a start.
const NONE: u32 = u32::MAX;

/// What an exploration found.
#[derive(Default)]
pub(crate) struct Found {
    /// States explored.
    pub(crate) states: usize,
    /// Steps between them.
    pub(crate) steps: usize,
    /// States of the fair graph, in which the liveness is proved.
    pub(crate) fair_states: usize,
    /// Whether nothing within the bounds was left out.
    pub(crate) complete: bool,
    /// By property: how often, and the way to the first one, a line a step.
    pub(crate) violations: BTreeMap<String, (usize, Vec<String>)>,
}

impl Found {
    fn add(&mut self, property: &str, trace: impl FnOnce() -> Vec<String>) {
        if let Some((count, _)) = self.violations.get_mut(property) {
            *count += 1;
        } else {
            self.violations.insert(property.to_owned(), (1, trace()));
        }
    }
}

/// An exploration.
pub(crate) struct Explorer<'a> {
    config: &'a Config,
    planner: &'a dyn Planner,
    set: Set,
    /// By number of a state: the one from which it was found.
    parents: Vec<u32>,
    found: Found,
}

impl<'a> Explorer<'a> {
    pub(crate) fn new(config: &'a Config, planner: &'a dyn Planner) -> Self {
        Self {
            config,
            planner,
            set: Set::new(),
            parents: Vec::new(),
            found: Found::default(),
        }
    }

    /// Explores everything; with `first` ends at the first violation.
    pub(crate) fn run(mut self, first: bool) -> Found {
        let parts: [fn(&mut Self, bool); 3] = [Self::safety, Self::liveness, |explorer, _| explorer.zero()];
        for part in parts {
            part(&mut self, first);
            if first && !self.found.violations.is_empty() {
                break;
            }
        }
        self.found
    }

    fn steps(&self, from: &State, fair_only: bool) -> Vec<Step> {
        steps(from, self.config, self.planner, fair_only, false)
    }

    fn safety(&mut self, first: bool) {
        for mut start in self.config.starts() {
            normalize(&mut start);
            if self.set.add(start.pack()).1 {
                self.parents.push(NONE);
            }
        }
        let mut number = 0;
        while number < self.set.keys.len() && self.set.keys.len() < self.config.limit {
            let state = State::unpack(self.set.keys[number]);
            let from = u32::try_from(number).expect("a number of the set");
            for step in self.steps(&state, false) {
                self.found.steps += 1;
                if self.set.add(step.to.pack()).1 {
                    self.parents.push(from);
                }
                for violation in &step.violations {
                    let trace = || {
                        let mut lines = trace::way(self.config, self.planner, &self.set.keys, &self.parents, from);
                        lines.push(format!("=> {}: {}", violation.detail, step.to.show()));
                        lines
                    };
                    self.found.add(violation.property, trace);
                }
            }
            self.deadline_can_pass(&state, from);
            number += 1;
            if first && !self.found.violations.is_empty() {
                break;
            }
        }
        self.found.states = number;
        self.found.complete = number == self.set.keys.len();
    }

    /// With `Rollback` the deadline must be able to pass on a broken revision.
    fn deadline_can_pass(&mut self, state: &State, number: u32) {
        let rolling = state.current != 0 && state.current != state.revision && state.failed != state.revision;
        let moves = state.wanted() > 0 && !state.paused && !self.config.analysis;
        let broken = !self.config.works(state.revision);
        if !(self.config.rollback && broken && rolling && moves) || state.past_deadline {
            return;
        }
        if !self.planner.pass(state).deadline_runs {
            let trace = || trace::way(self.config, self.planner, &self.set.keys, &self.parents, number);
            self.found
                .add("L4 the deadline can never pass on a broken revision", trace);
        }
    }
}
