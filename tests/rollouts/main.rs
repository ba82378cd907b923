//! Rollouts on a real API server with the real controllers beside ours, and what an earlier release left behind. Each
//! test has an operator of its own, which looks after the namespace of the test alone.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod analyses;
mod autoscaler;
mod bed;
mod broken;
mod consistent;
mod drain;
mod many;
mod one_replica;
mod plugin;
mod pods;
mod quiet;
mod releases;
mod undo;
mod waiting;
