//! Pods on a real API server, with nodes that kwok plays: healed, never doubled, wherever the operator is killed and
//! whatever refuses them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod bed;
mod crash;
mod deletion;
mod orphans;
mod refusals;
mod twins;
mod ways_to_fail;
