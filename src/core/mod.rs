//! The decisions: pure, total, testable without a cluster.
//!
//! Must never await, call, log, read a clock or draw a random number; `tests/architecture.rs` looks. Imports `api`
//! alone. In reading order.

pub mod duration;
pub mod names;
pub mod path;
pub mod violation;

pub mod number;
mod sorted_json;
pub mod words;

mod compose;
pub mod config_text;
pub mod defaults;
pub mod merge;
mod multi_process;
pub mod revision;
pub mod validation;

pub mod render;
pub mod stored_revision;
pub mod valid;

pub mod collision;

pub mod settings;

pub mod health;
pub mod in_flight;
pub mod observed;

pub mod plan;
pub mod status;

pub mod orphans;

pub mod outlook;
pub mod overlap;
pub mod schema;
pub mod tree;
pub mod undo;

pub mod forecast;

pub mod analysis;
