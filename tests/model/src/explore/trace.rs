//! The way to a state, in words, found anew from the numbers that are kept.

use std::collections::{HashMap, VecDeque};

use super::NONE;
use crate::config::Config;
use crate::planner::Planner;
use crate::state::State;
use crate::world::steps;

/// The way from a start to the state `number`, a line a step.
pub(super) fn way(config: &Config, planner: &dyn Planner, keys: &[u128], parents: &[u32], number: u32) -> Vec<String> {
    let mut numbers = vec![number];
    let mut at = number;
    while parents[at as usize] != NONE {
        at = parents[at as usize];
        numbers.push(at);
    }
    numbers.reverse();
    let states: Vec<u128> = numbers.into_iter().map(|number| keys[number as usize]).collect();
    tell(config, planner, &states, false)
}

/// A shortest fair way from one state to another.
pub(super) fn fair_way(config: &Config, planner: &dyn Planner, from: &State, to: &State) -> Vec<String> {
    let goal = to.pack();
    let mut came_from = HashMap::from([(from.pack(), from.pack())]);
    let mut waiting = VecDeque::from([from.pack()]);
    while let Some(key) = waiting.pop_front() {
        if key == goal {
            break;
        }
        for step in steps(&State::unpack(key), config, planner, true, false) {
            came_from.entry(step.to.pack()).or_insert_with(|| {
                waiting.push_back(step.to.pack());
                key
            });
        }
    }
    let mut keys = vec![goal];
    let mut key = goal;
    while key != from.pack() {
        let Some(before) = came_from.get(&key) else { break };
        key = *before;
        keys.push(key);
    }
    keys.reverse();
    tell(config, planner, &keys, true)
}

/// States that follow each other, with what happened between them.
pub(super) fn tell(config: &Config, planner: &dyn Planner, keys: &[u128], fair_only: bool) -> Vec<String> {
    let mut lines: Vec<String> = keys.first().map(|key| State::unpack(*key).show()).into_iter().collect();
    for pair in keys.windows(2) {
        let [from, to] = pair else { continue };
        let all = steps(&State::unpack(*from), config, planner, fair_only, true);
        let label = all
            .into_iter()
            .find(|step| step.to.pack() == *to)
            .map(|step| step.label);
        lines.push(format!(
            "{}\n        {}",
            label.unwrap_or_default(),
            State::unpack(*to).show()
        ));
    }
    lines
}
