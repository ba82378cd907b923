//! The chart, judged by the real helm and the real API server.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod check;
mod documents;
mod flags;
mod helm;
mod life;
mod manifests;
mod metrics_sources;
mod monitoring;
mod overlap;
mod program;
mod released;
mod rendering;
mod replica;
mod rights;
mod tls;
mod values;
mod watched;
