//! What makes a StreamingPipeline invalid, and what is worth a warning.

use serde_json::Value;

use super::violation::{Violation, Warning};

/// The answer to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Every fault that refuses it; empty: admitted.
    pub violations: Vec<Violation>,
    /// What is admitted and should still be said, at most [`WARNINGS_MAX`].
    pub warnings: Vec<Warning>,
}

/// Most warnings of one answer.
pub const WARNINGS_MAX: usize = 10;

/// Judges a raw StreamingPipeline (`metadata` and `spec`, defaulted or not); `old` is the stored object that an update
/// would replace. Faults that `old` has as well become warnings.
#[must_use]
pub fn validate(new: &Value, old: Option<&Value>) -> Verdict {
    let _ = (new, old);
    Verdict::default()
}
