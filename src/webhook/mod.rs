//! Admission: what the API server asks before it stores one of our objects.
//!
//! A shell around the core: it decodes reviews, calls the same defaults and the same validation as the controller, and
//! answers. Must never write to the API server (a question about rights is no write), never pass silently what it could not judge, and never import the
//! controller.

pub mod access;
pub mod authorizer;
pub mod judge;
pub mod manifests;
pub mod names;
pub mod patch;
pub mod review;
pub mod router;

pub use names::Names;
pub use router::{Deps, router};
