//! From every state, and after any one edit: a healthy cluster with a silent user comes to an end, and that is a good
//! one. Depth first: the graph of fair steps has no cycle, and each of its sinks is a goal.

use super::set::Set;
use super::{Explorer, goals, trace};
use crate::config::Config;
use crate::planner::Planner;
use crate::state::State;
use crate::world::normalize;

/// How far the search is with a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    New,
    OnTheWay,
    Done,
}

/// A state on the way: its number, where it leads, and how many of these were looked at.
struct Open {
    number: u32,
    next: Vec<u32>,
    looked: usize,
}

/// The graph of fair steps as far as it was built.
struct Graph {
    set: Set,
    colours: Vec<Colour>,
}

impl Graph {
    fn add(&mut self, state: &State) -> (u32, bool) {
        let (number, new) = self.set.add(state.pack());
        if new {
            self.colours.push(Colour::New);
        }
        (number, new)
    }
    fn state(&self, number: u32) -> State {
        State::unpack(self.set.keys[number as usize])
    }
}

impl Explorer<'_> {
    pub(super) fn liveness(&mut self, first: bool) {
        let mut graph = Graph {
            set: Set::new(),
            colours: Vec::new(),
        };
        for number in 0..self.found.states {
            let state = State::unpack(self.set.keys[number]);
            for (mut seed, label) in goals::seeds(&state, self.config) {
                normalize(&mut seed);
                let (root, new) = graph.add(&seed);
                if new {
                    let from = u32::try_from(number).expect("a number of the set");
                    self.new_attempt(&seed, label, from);
                    self.search(&mut graph, root, label, from);
                }
            }
            if first && !self.found.violations.is_empty() {
                break;
            }
        }
        self.found.fair_states = graph.set.keys.len();
    }

    /// An edit to a revision that had failed is a new attempt.
    fn new_attempt(&mut self, seed: &State, label: &str, from: u32) {
        let status = self.planner.pass(seed).status;
        if label.starts_with("L2") && status.failed == seed.revision && status.current != 0 {
            let trace = || way_to(self.config, self.planner, &self.set.keys, &self.parents, from, label);
            self.found
                .add("L2 an edit to a revision that had failed once is refused", trace);
        }
    }

    fn search(&mut self, graph: &mut Graph, root: u32, label: &str, from: u32) {
        let mut stack = vec![self.open(graph, root, root, label, from)];
        while let Some(top) = stack.last_mut() {
            let Some(next) = top.next.get(top.looked).copied() else {
                graph.colours[top.number as usize] = Colour::Done;
                stack.pop();
                continue;
            };
            top.looked += 1;
            match graph.colours[next as usize] {
                Colour::New => {
                    let opened = self.open(graph, next, root, label, from);
                    stack.push(opened);
                }
                Colour::OnTheWay => {
                    let cycle = stack
                        .iter()
                        .skip_while(|open| open.number != next)
                        .map(|open| open.number);
                    let cycle: Vec<u32> = cycle.chain([next]).collect();
                    self.livelock(graph, root, &cycle, label, from);
                }
                Colour::Done => {}
            }
        }
    }

    /// Looks where a state leads, and judges it where that is nowhere.
    fn open(&mut self, graph: &mut Graph, number: u32, root: u32, label: &str, from: u32) -> Open {
        graph.colours[number as usize] = Colour::OnTheWay;
        let state = graph.state(number);
        let next: Vec<u32> = self
            .steps(&state, true)
            .iter()
            .map(|step| graph.add(&step.to).0)
            .collect();
        if let (true, Err(what)) = (next.is_empty(), goals::judge(&state, self.config, self.planner)) {
            let start = graph.state(root);
            let trace = || {
                let mut lines = way_to(self.config, self.planner, &self.set.keys, &self.parents, from, label);
                lines.extend(trace::fair_way(self.config, self.planner, &start, &state));
                lines
            };
            self.found.add(&what, trace);
        }
        Open {
            number,
            next,
            looked: 0,
        }
    }

    fn livelock(&mut self, graph: &Graph, root: u32, cycle: &[u32], label: &str, from: u32) {
        let keys: Vec<u128> = cycle.iter().map(|number| graph.set.keys[*number as usize]).collect();
        let start = graph.state(root);
        let trace = || {
            let mut lines = way_to(self.config, self.planner, &self.set.keys, &self.parents, from, label);
            let first = keys.first().map_or(start, |key| State::unpack(*key));
            lines.extend(trace::fair_way(self.config, self.planner, &start, &first));
            lines.push("-- and then without end:".to_owned());
            lines.extend(trace::tell(self.config, self.planner, &keys, true));
            lines
        };
        self.found.add("LIVELOCK an endless cycle of writes", trace);
    }
}

fn way_to(
    config: &Config,
    planner: &dyn Planner,
    keys: &[u128],
    parents: &[u32],
    from: u32,
    label: &str,
) -> Vec<String> {
    let mut lines = trace::way(config, planner, keys, parents, from);
    lines.push(format!("-- {label}; from here a healthy cluster and a silent user:"));
    lines
}
