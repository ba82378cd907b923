//! The product's planner and the rules as they read, side by side: where their writes differ although both are allowed.
//!
//! Must never judge: what is not allowed the exploration finds.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::config::Start;
use crate::planner::{Pass, Planner, Write};
use crate::rules::Rules;
use crate::state::State;

/// A planner that is compared with the rules at every state that it sees.
pub(crate) struct Compared<'a> {
    pub(crate) product: &'a dyn Planner,
    pub(crate) rules: Rules,
    /// By what differs: how often, and the first state.
    pub(crate) differences: RefCell<BTreeMap<String, (u64, String)>>,
}

impl Compared<'_> {
    /// Whether the rules have no word for what is explored.
    fn is_unknown(&self) -> bool {
        matches!(
            self.rules.0.start,
            Start::Restart | Start::Legacy | Start::BrokenLegacy | Start::RollingLegacy
        )
    }
}

impl Planner for Compared<'_> {
    fn pass(&self, seen: &State) -> Pass {
        let pass = self.product.pass(seen);
        // The rules know no dry run, no cache, no restart and no legacy Deployment; what they say of such a state is of no use.
        let dry = pass.writes.iter().any(|write| matches!(write, Write::DryRun(_)));
        if !dry && seen.hidden.is_none() && !self.is_unknown() {
            let ours = pods(&pass.writes);
            let theirs = pods(&self.rules.pass(seen).writes);
            if ours != theirs {
                let what = format!("planner: {}; rules: {}", only(&ours, &theirs), only(&theirs, &ours));
                let mut differences = self.differences.borrow_mut();
                differences.entry(what).or_insert_with(|| (0, seen.show())).0 += 1;
            }
        }
        pass
    }
}

/// The writes of Pods, in an order of their own.
fn pods(writes: &[Write]) -> Vec<Write> {
    let of_pods = |write: &&Write| !matches!(write, Write::Status | Write::Mark(_) | Write::DryRun(_));
    let mut pods: Vec<Write> = writes.iter().filter(of_pods).copied().collect();
    pods.sort_unstable();
    pods
}

/// The writes of one that are none of the other.
fn only(of: &[Write], other: &[Write]) -> String {
    let words: Vec<String> = of
        .iter()
        .filter(|write| !other.contains(write))
        .map(|write| write.text())
        .collect();
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join(", ")
    }
}
