//! The operator on a real API server, with nodes that kwok plays.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod idle;
mod metrics;
mod ownership;
mod release;
