//! Several replicas of the real operator behind a balancer, on a real API server: certificates that rotate, replicas that
//! are restarted, leaders that are lost, clients that race. Each test prints its figures (`--nocapture`); what is
//! asserted are counts.
//!
//! `make test` runs a slice; `make soak ONLY=ha` and `make soak ONLY=races` run the whole.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod bed;
mod ca_bundle;
mod leaders;
mod load;
mod losses;
mod races;
mod restarts;
mod rotations;
mod router;
mod witness;

/// A number that the long form sets in the environment, else that of the slice.
fn size(variable: &str, slice: usize) -> usize {
    let given = std::env::var(variable).ok();
    given.and_then(|number| number.parse().ok()).unwrap_or(slice)
}
