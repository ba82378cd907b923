//! The controller against an API server within the process, on a paused clock: what it writes, what it never writes, and
//! that it comes to the same end wherever it is interrupted.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

mod analyses;
mod fairness;
mod faults;
mod killed;
mod operator;
mod orphans;
mod ownership;
mod passes;
mod quiet;
mod status_writes;
mod stored;
mod told;

use testkit::fake_api::Request;

/// The Pods of a pipeline of three replicas as it is first made.
const ALL_OF_THREE: [&str; 3] = ["primary/0 image:1", "primary/1 image:1", "primary/2 image:1"];

fn is_pod_create(request: &Request) -> bool {
    request.verb == "create" && request.resource == "pods" && !request.dry_run
}
