//! Metrics sources against a real Prometheus and a proxy before it that fails on purpose: what is asked, what an answer
//! becomes, and that nothing else is ever taken for one.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod bed;
mod faults;
mod query;
mod secrets;
mod values;
