//! No broken revision keeps a pipeline at zero while the other one works.
//!
//! A crashing Pod is made again and again, so the fair graph at zero may have cycles; what it may not have is a cycle
//! in which nothing good is starting, or a pass that deletes what is.

use super::set::Set;
use super::{Explorer, trace};
use crate::config::Start;
use crate::planner::Write;
use crate::state::{Live, State, is_available, revision_of};

const PROPERTY: &str = "L7 a broken revision keeps the pipeline at zero though another one works";

/// The fair graph of the states at zero.
struct Graph {
    set: Set,
    /// By state: the explored one from which it was reached.
    from: Vec<u32>,
    next: Vec<Vec<u32>>,
}

impl Explorer<'_> {
    pub(super) fn zero(&mut self) {
        let mut graph = Graph {
            set: Set::new(),
            from: Vec::new(),
            next: Vec::new(),
        };
        for number in 0..self.found.states {
            let state = State::unpack(self.set.keys[number]);
            if self.is_owed(&state) {
                let calm = State {
                    edits: 0,
                    faults: 0,
                    hidden: None,
                    ..state
                };
                if graph.set.add(calm.pack()).1 {
                    graph.from.push(u32::try_from(number).expect("a number of the set"));
                }
            }
        }
        if let Some(number) = self.build(&mut graph) {
            self.report(&graph, number, "-- at zero, and nothing happens any more:");
            return;
        }
        let components = components(&graph.next);
        for number in 0..graph.next.len() {
            let component = components[number];
            let in_cycle = graph.next[number]
                .iter()
                .any(|next| components[*next as usize] == component);
            let state = State::unpack(graph.set.keys[number]);
            if !in_cycle {
                continue;
            }
            if !self.is_starting(&state) {
                self.report(&graph, number, "-- at zero without end, and nothing good is starting:");
                return;
            }
            if self.kills(&state) && self.pass_stays(&mut graph, &state, component, &components) {
                self.report(
                    &graph,
                    number,
                    "-- at zero without end, and a pass deletes what is starting:",
                );
                return;
            }
        }
    }

    /// Whether the pipeline may not stay at zero: a revision that works can be made.
    fn is_owed(&self, state: &State) -> bool {
        let back = state.current != 0 && self.config.works(state.current);
        let forward = self.config.works(state.revision) && !state.paused && state.failed != state.revision;
        let alone = self.config.strict && state.wanted() == 1;
        // A Pod that hangs is not replaced while paused.
        let held = self.config.hangs && state.paused;
        (back || forward) && state.wanted() > 0 && state.available() == 0 && !alone && !held
    }

    /// Builds the graph; gives a state of it from which nothing leads on.
    fn build(&self, graph: &mut Graph) -> Option<usize> {
        let mut number = 0;
        while number < graph.set.keys.len() {
            let steps = self.steps(&State::unpack(graph.set.keys[number]), true);
            if steps.is_empty() {
                return Some(number);
            }
            let mut next = Vec::new();
            for step in steps.iter().filter(|step| step.to.available() == 0) {
                let (to, new) = graph.set.add(step.to.pack());
                if new {
                    graph.from.push(graph.from[number]);
                }
                next.push(to);
            }
            graph.next.push(next);
            number += 1;
        }
        None
    }

    fn works(&self, live: Live) -> bool {
        self.config.works(revision_of(live))
    }

    fn is_starting(&self, state: &State) -> bool {
        let pending = |live: Live| !is_available(live) && self.works(live);
        let legacy = state.legacy;
        let legacy_starts = self.config.start != Start::BrokenLegacy && !legacy.rolling && legacy.given > 0;
        let legacy_moves = legacy.terminating > 0 || (legacy.shown() > legacy.given && !legacy.rolling);
        let ends = state.places.iter().any(|place| place.terminating > 0);
        state.lives().any(pending) || ends || legacy_starts || legacy_moves
    }

    /// Whether the pass of this state deletes a Pod that is starting and works.
    fn kills(&self, state: &State) -> bool {
        let starting = |write: &Write| match write {
            Write::Delete { place, second } => {
                let live = if *second {
                    state.second_of(*place)
                } else {
                    state.places[*place].live
                };
                live > 0 && !is_available(live) && self.works(live)
            }
            _ => false,
        };
        self.planner.pass(state).writes.iter().any(starting)
    }

    /// Whether the pass of this state leads on within the cycle.
    fn pass_stays(&self, graph: &mut Graph, state: &State, component: u32, components: &[u32]) -> bool {
        let all = crate::world::steps(state, self.config, self.planner, true, true);
        let passes = all
            .iter()
            .filter(|step| step.label.starts_with("operator") && step.to.available() == 0);
        passes
            .map(|step| graph.set.add(step.to.pack()).0 as usize)
            .any(|to| components.get(to) == Some(&component))
    }

    fn report(&mut self, graph: &Graph, number: usize, what: &str) {
        let from = graph.from[number];
        let trace = || {
            let mut lines = trace::way(self.config, self.planner, &self.set.keys, &self.parents, from);
            let state = State::unpack(graph.set.keys[number]);
            lines.push(format!("{what} {}", state.show()));
            let all = crate::world::steps(&state, self.config, self.planner, true, true);
            lines.extend(
                all.iter()
                    .map(|step| format!("     {} -> {}", step.label, step.to.show())),
            );
            lines
        };
        self.found.add(PROPERTY, trace);
    }
}

/// The strongly connected component of each node (Tarjan's algorithm, without recursion).
fn components(next: &[Vec<u32>]) -> Vec<u32> {
    let mut search = Search {
        index: vec![0; next.len()],
        low: vec![0; next.len()],
        component: vec![u32::MAX; next.len()],
        stack: Vec::new(),
        time: 0,
        components: 0,
    };
    for root in 0..next.len() {
        if search.index[root] == 0 {
            search.from(root, next);
        }
    }
    search.component
}

struct Search {
    index: Vec<u32>,
    low: Vec<u32>,
    component: Vec<u32>,
    stack: Vec<usize>,
    time: u32,
    components: u32,
}

impl Search {
    fn from(&mut self, root: usize, next: &[Vec<u32>]) {
        let mut calls = vec![(root, 0)];
        while let Some((node, looked)) = calls.last_mut() {
            let node = *node;
            if *looked == 0 {
                self.enter(node);
            }
            if let Some(to) = next[node].get(*looked) {
                *looked += 1;
                let to = *to as usize;
                if self.index[to] == 0 {
                    calls.push((to, 0));
                } else if self.component[to] == u32::MAX {
                    self.low[node] = self.low[node].min(self.index[to]);
                }
                continue;
            }
            calls.pop();
            if let Some((caller, _)) = calls.last() {
                self.low[*caller] = self.low[*caller].min(self.low[node]);
            }
            self.leave(node);
        }
    }

    fn enter(&mut self, node: usize) {
        self.time += 1;
        self.index[node] = self.time;
        self.low[node] = self.time;
        self.stack.push(node);
    }

    fn leave(&mut self, node: usize) {
        if self.low[node] != self.index[node] {
            return;
        }
        while let Some(of_it) = self.stack.pop() {
            self.component[of_it] = self.components;
            if of_it == node {
                break;
            }
        }
        self.components += 1;
    }
}
