//! The controller: watches, and for each pipeline that something happened to one pass at a time.
//!
//! A pass gathers what is known, lets the core decide, carries it out and writes down what came of it. What it knows
//! comes from caches that every replica keeps warm; only the holder of the lease passes. Must never decide anything that
//! the core could decide, and never import the webhook.

pub mod apply;
pub mod backoff;
pub mod context;
pub mod errors;
pub mod gather;
pub mod legacy;
pub mod namespaces;
pub mod objects;
pub mod orphans;
pub mod owners;
pub mod pods;
pub mod reconcile;
pub mod release;
pub mod report;
pub mod run;
pub mod status_write;
pub mod stored_object;
pub mod world;

pub use context::{Clock, Context};
pub use run::{lead, watch};
pub use world::World;
