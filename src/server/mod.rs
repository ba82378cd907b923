//! Connections: accepting them, bounding them, ending them without losing a request; and what a probe asks.
//!
//! Knows nothing of what is served: it is given a router. Must never let one slow or silent client keep others out, and
//! never close a connection that has a request on it, except past the drain limit.

pub mod connections;
pub mod gate;
pub mod limits;
pub mod open_files;
pub mod probes;
pub mod readiness;
pub mod serve;
pub mod tls;

pub use gate::Gate;
pub use limits::{Limits, WorkLimits};
pub use readiness::{Need, Readiness};
pub use serve::{Transport, serve};
