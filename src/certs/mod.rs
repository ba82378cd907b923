//! Certificates.
pub mod resolver;
