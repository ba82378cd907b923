//! The decisions: pure, total, testable without a cluster.
//!
//! Must never await, call, log, read a clock or draw a random number; `tests/architecture.rs` looks. Imports `api`
//! alone. In reading order.

pub mod names;
pub mod violation;

pub mod defaults;
pub mod revision;
pub mod validation;

pub mod render;
pub mod valid;

pub mod collision;
