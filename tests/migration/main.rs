//! The move from the real Python operator (a package, in a virtual environment outside the checkout) and the way back, on a
//! real API server with the real Deployment controller. A witness watches all Pods and judges each of their states.
//!
//! `make test` runs a slice; `make soak ONLY=migration` kills the operator after every number of writes.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod bed;
mod contested;
mod pipelines;
mod python;
mod surge;
mod takeover;
mod way_back;
mod witness;
