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
