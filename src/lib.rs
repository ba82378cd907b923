//! `streaming-operator`: an admission webhook and a controller for Sentry Streams consumers on Kubernetes. This comment
//! is the architecture document; read it first, then the modules in the order in which they stand below.
//!
//! # One idea
//!
//! A pure core decides; thin shells look and act. Webhook, controller and command line call the same functions of the
//! core, so they cannot disagree about what is valid, what is rendered or what an edit will do.
//!
//! ```text
//! watch -> store -> gather() -> Observed --\                                 /-> apply(actions) -> Outcome
//! StreamingPipeline ----------------------> core::plan::decide(..., now) ---<                        |
//!                                           Decision{actions, notices, wake} -> core::status(outcome) -> write if changed -> report
//! webhook: AdmissionReview (raw) -> defaults -> patch = diff(raw before, raw after);  -> validate(new, old, index) -> violations
//! CLI:     YAML -> the same defaults, validation, rendering, planning -> text
//! ```
//!
//! # Map
//!
//! | module | is | must never |
//! |---|---|---|
//! | [`api`] | the wire: types users write and read | decide anything, import ours |
//! | [`core`] | the decisions, pure and total | await, call, log, read a clock, import anything but `api` |
//! | [`controller`] | passes over pipelines: gather, decide, apply, write down | decide, import the webhook |
//! | [`analyses`] | passes over analyses: look, measure, hold, write down | decide, write to a pipeline |
//! | [`webhook`] | admission: reviews in, answers out | write to the API server, import the controller |
//! | [`metrics_sources`] | the Prometheus servers that analyses ask | call an address that is not configured |
//! | [`server`] | connections, limits, drain, probes | know what is served |
//! | [`certs`] | CA, serving certificate, `caBundle` | log or show a key |
//! | [`telemetry`] | logs and every metric | decide anything, name an object in a metric |
//! | [`caches`] | what watches told, and who is to be looked at | write, show half a list |
//! | [`client`] | clients of the API server, metered and gated | change a request |
//! | [`leader`] | who may write: the holder of a Lease | trust another machine's clock |
//! | [`operator`] | the composition root: what runs when, and how it ends | hold a rule of the product |
//! | [`check`] | whether an installed operator works, part by part | change anything |
//! | [`cli`] | one file a subcommand | hold product logic |
//!
//! Direction: `main -> cli -> check -> operator -> shells -> core -> api`. `controller` and `webhook` never import each other.
//!
//! # What every change is judged by
//!
//! Two consumers on one partition; zero consumers after a bad edit; a webhook that locks its users out; a status that
//! says "fine" while nothing runs; an operator upgrade that restarts everything. The invariants that follow:
//!
//! - Nothing is created over, changed or deleted whose owner-uid label is not the pipeline's uid; each delete carries
//!   the uid of what it means as precondition.
//! - A Pod is made from the template stored with its revision, never from what this release would render today.
//! - Never fewer than `replicas - maxUnavailable` available Pods because of us.
//! - Status says what was seen and done, never what was planned: it is computed from the `Outcome` of the writes.
//! - Time is an argument of every decision; the shells read the clock once a pass.
//! - Untyped JSON lives in the rooms that `tests/architecture.rs` names, and nowhere else.

pub mod api;
pub mod core;

pub mod telemetry;

pub mod caches;
pub mod client;
pub mod leader;
pub mod metrics_sources;

pub mod controller;

pub mod analyses;

pub mod certs;
pub mod server;
pub mod webhook;

pub mod operator;

pub mod check;

pub mod cli;
