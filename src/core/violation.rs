//! A fault of an object: what a rule found, and where. The one form in which webhook, controller and CLI speak of bad
//! input. Must never be built without a path.

use std::fmt;

/// What kind of fault it is: `reason` of a cause in a `Status`, in the words of the API server's own validation
/// (k8s.io/apimachinery `field.ErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The value is of another type than it must be.
    TypeInvalid,
    /// The value is missing.
    Required,
    /// The value is malformed or out of its range.
    Invalid,
    /// The value is none of the allowed ones.
    NotSupported,
    /// The value may not be set here.
    Forbidden,
    /// The value occurs twice where it must be unique.
    Duplicate,
    /// The value is too long.
    TooLong,
}

impl FaultKind {
    /// As it stands in `details.causes[].reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
        }
    }
}

/// A fault that refuses an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule that found it, from the list of rules; the same fault is found under the same name again.
    pub rule: &'static str,
    /// Where, from the root of the object, as in `spec.pipeline_config.pipeline.segments[1].steps_config.parse`.
    pub path: String,
    /// What kind of fault.
    pub kind: FaultKind,
    /// What is wrong and, where it is not plain from that, what to do. No full stop at the end, no path in it.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Something that is admitted and should still be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Name of the rule that says it.
    pub rule: &'static str,
    /// Where, as in [`Violation::path`].
    pub path: String,
    /// One line, under 120 characters with the path in front.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
