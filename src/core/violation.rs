//! A fault of an object: what a rule found, and where. The one form in which webhook, controller and CLI speak of bad
//! input. Must never be built without a path.

use std::fmt;

use super::path::FieldPath;

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

/// A fault as the place that found it knows it; with the name of the rule it becomes a [`Violation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where, from the root of the object.
    pub path: FieldPath,
    /// What kind of fault.
    pub kind: FaultKind,
    /// As [`Violation::message`].
    pub message: String,
    /// Whether what stands at `path` is at fault, or what is rendered of it and of other fields. It decides when an
    /// old object had the same fault: with the same value there, or with the same message.
    pub about: About,
}

/// What a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The value at the path.
    Value,
    /// What is rendered.
    Rendered,
}

impl Finding {
    /// A fault of the value at `path`.
    #[must_use]
    pub fn of_value(path: FieldPath, kind: FaultKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            path,
            kind,
            message,
            about: About::Value,
        }
    }

    /// A fault of what is rendered, for which the value at `path` is most to blame.
    #[must_use]
    pub fn of_rendered(path: FieldPath, kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            about: About::Rendered,
            ..Self::of_value(path, kind, message)
        }
    }

    /// The fault under the name of the rule that found it.
    #[must_use]
    pub fn under(self, rule: &'static str) -> Violation {
        Violation {
            rule,
            path: self.path.to_string(),
            kind: self.kind,
            message: self.message,
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
