//! The controller: watches, and for each pipeline that something happened to one pass at a time.
//!
//! A pass gathers what is known, lets the core decide, carries it out and writes down what came of it. What it knows
//! comes from caches that every replica keeps warm; only the holder of the lease passes. Must never decide anything that
//! the core could decide, and never import the webhook.

mod apply;
mod backoff;
pub mod context;
mod errors;
mod gather;
pub mod namespaces;
mod objects;
mod owners;
mod pods;
mod reconcile;
mod report;
pub mod run;
mod status_write;
pub mod world;

pub use context::{Clock, Context};
pub use run::{lead, watch};
pub use world::World;
