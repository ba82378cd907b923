//! A real control plane, faults and witnesses for tests.
