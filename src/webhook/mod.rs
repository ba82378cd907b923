//! Admission: what the API server asks before it stores one of our objects.
//!
//! A shell around the core: it decodes reviews, calls the same defaults and the same validation as the controller, and
//! answers. Must never write to the API server, and never import the controller.

pub mod manifests;
