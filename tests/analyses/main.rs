//! Analyses of Deployments on a real API server with the real Deployment controller: what managedFields say, and who
//! pauses, no server within the process would show. Each test has an operator of its own.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod bed;
mod deletions;
mod deployments;
mod source;
