//! What measurements say of a rollout.
//!
//! Must never take an answer that did not come for a bad value: an outage of the metrics source is no regression.

pub mod admission;
pub mod answer;
pub mod defaults;
mod promql;
pub mod rules;
mod schema;
pub mod valid;
pub mod variables;

pub mod judge;
pub mod target;

pub mod deployment;
pub mod pipeline;

pub mod run;
pub mod schedule;

pub mod gate;
pub mod hold;

pub mod notices;
pub mod status;

#[cfg(test)]
mod fixtures;
