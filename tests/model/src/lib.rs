//! Every state that a rollout can reach, with the product's own planner at the controls.
//!
//! The rules of rollouts were explored as a model before the product was written: Pods, a spec, a status, clocks, and
//! everything that can happen to them, in a state of a few bits ([`state`], [`world`]). Here the planner of
//! `streaming-operator` decides in the model's stead: a state becomes the objects that `core::plan::decide` takes, and
//! what it plans becomes writes of the model ([`adapter`]). Breadth-first search visits every state within the bounds of
//! a configuration, with a crash of the operator after any of its writes ([`explore`]).
//!
//! What must never happen is judged on the real state at the moment of each write:
//!
//! | | |
//! |---|---|
//! | S1 | our delete leaves fewer available Pods than the floor |
//! | S2 | more live or terminating Pods of an ordinal than it may have |
//! | S3 | more live Pods than `replicas` (one more in a hand-over or a take-over) |
//! | S4 | a broken revision takes more than `maxUnavailable` places |
//! | S5 | a primary is updated though the gate's conditions never held |
//! | S6 | a broken revision becomes current, or one completes without Pods |
//! | S7 | a revision fails by what is not its own |
//! | S8 | a Pod is written before the facts that allow it |
//! | S9 | a legacy consumer is taken while paused, or its Deployment deleted with Pods |
//! | Z1 | our write takes the last available consumer |
//!
//! And what must come, from every state that was visited and after any one edit there, with a healthy cluster and a
//! silent user: a revision that works completes (L1 to L3), `Rollback` goes back and stays (L4), what is paused or held
//! is healed (L6), no broken revision keeps a pipeline at zero (L7); the writes end, and then there are none.
//!
//! # Not explored
//!
//! Generations, back-off, graces and the lengths of clocks;
//! refused creates and dry runs; collisions; a lost status; `abort`; changes of `maxUnavailable`, policy or
//! `restartAt`. For these there are the scenarios of `tests/core_scenarios` and the planner's unit tests. `promote` and
//! `resume` are explored by what they leave in the status.
//!
//! # Where the planner and the rules as they read differ
//!
//! [`rules`] is the text of the rules as a program, written before the planner and apart from it. At each state the
//! writes of both are compared ([`compare`]), and a test says which differences there are:
//!
//! - Past the deadline, while an updated Pod is unavailable, the planner gives up no available Pod of the current
//!   revision, the canary included. The rules as a program let the canary go, which the budget allows. The planner
//!   follows the sentence, which speaks of any Pod.
//! - The gate opens in the very pass in which the deadline passes. The planner counts the opening as progress, so that
//!   `Rollback` does not fail the revision; the rules as a program judge the deadline first.
//!
//! # What the exploration showed of the rules themselves
//!
//! With one replica, whose only Pod is of a broken revision and hangs, an edit back to the current revision together
//! with a pause leaves the pipeline without a consumer until the pause ends: while paused no Pod of another revision is
//! replaced, and no successor is made beside it. So with Pods that hang, what is paused is not judged.
//!
//! # Planted defects
//!
//! [`planted`] takes one sentence of the rules away at a time, by a change of what the planner is shown or of what it
//! says, and the search must find each.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end where a program may not"
)]

mod adapter;
mod bits;
mod compare;
mod config;
mod explore;
mod lists;
mod planner;
mod planted;
mod rules;
mod state;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use adapter::Product;
use compare::Compared;
use config::Config;
use explore::{Explorer, Found};
use planted::{Defect, Planted};
use rules::Rules;

/// What explorations found, all together.
#[derive(Debug, Default)]
pub struct Report {
    /// States that were visited.
    pub states: usize,
    /// Steps that were looked at.
    pub steps: usize,
    /// Each violated property, with its configuration and a shortest way to it.
    pub violations: Vec<String>,
    /// Each difference between the planner and the rules as they read, with how often it was met and where first.
    pub differences: BTreeMap<String, (u64, String)>,
}

impl Report {
    /// The last line of a run.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{} states explored, {} violations", self.states, self.violations.len())
    }
}

/// Explores what every run of the tests explores.
#[must_use]
pub fn explore_shortly() -> Report {
    explore_all(&lists::short())
}

/// Explores everything; of each configuration `limit` states at most.
#[must_use]
pub fn explore_at_length(limit: usize) -> Report {
    let limited = |config| Config { limit, ..config };
    let all: Vec<Config> = lists::long().into_iter().map(limited).collect();
    explore_all(&all)
}

/// Explores with each planted defect. Gives the defect and the property that it violates, `None` where none was.
#[must_use]
pub fn planted_defects() -> Vec<(String, Option<String>)> {
    let all = Mutex::new(vec![("OwnWritesForgotten".to_owned(), forgotten_writes())]);
    in_parallel(&Defect::ALL, |defect| {
        let config = lists::that_shows(*defect);
        let product = Product::new(config);
        let planted = Planted {
            sound: &product,
            defect: *defect,
            config,
        };
        let found = Explorer::new(&config, &planted).run(true);
        let property = found.violations.into_keys().next();
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((format!("{defect:?}"), property));
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The one defect that lies in what the product remembers: own writes that the cache does not show are forgotten.
fn forgotten_writes() -> Option<String> {
    let config = Config {
        stale: true,
        edits: 1,
        ..Config::running(3)
    };
    let product = Product::forgetful(config);
    Explorer::new(&config, &product).run(true).violations.into_keys().next()
}

/// Explores the configurations, and prints a line each.
fn explore_all(configs: &[Config]) -> Report {
    let report = Mutex::new(Report::default());
    in_parallel(configs, |config| explore_one(config, &report));
    report.into_inner().expect("no thread panics")
}

/// Does the work for each item, for as many at once as there are processors.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

fn explore_one(config: &Config, report: &Mutex<Report>) {
    let begin = Instant::now();
    let product = Product::new(*config);
    let compared = Compared {
        product: &product,
        rules: Rules(*config),
        differences: RefCell::default(),
    };
    let found = Explorer::new(config, &compared).run(false);
    println!(
        "{config}: {} in {:.0} s",
        figures(&found),
        begin.elapsed().as_secs_f64()
    );
    let mut report = report.lock().expect("no thread panics");
    report.states += found.states;
    report.steps += found.steps;
    for (property, (count, trace)) in found.violations {
        let text = format!("{property} ({count} times)\n  {config}\n    {}", trace.join("\n    "));
        println!("VIOLATION {text}");
        report.violations.push(text);
    }
    for (what, (count, first)) in compared.differences.into_inner() {
        let entry = report.differences.entry(what).or_insert_with(|| (0, first));
        entry.0 += count;
    }
}

fn figures(found: &Found) -> String {
    let complete = if found.complete { "" } else { " (cut at the limit)" };
    format!(
        "{} states{complete}, {} steps, {} states of the fair graph",
        found.states, found.steps, found.fair_states
    )
}
