//! A real control plane, faults and witnesses for tests.
pub mod fake_api;
