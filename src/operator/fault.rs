//! Something that stands in the way of a run, in words.

use std::fmt;

/// What is missing, and what to do about it; each a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is missing.
    pub what: String,
    /// What a person can do.
    pub todo: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.what, self.todo)
    }
}
