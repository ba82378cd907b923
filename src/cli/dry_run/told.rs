//! An answer of the API server as faults and warnings of a document. Pure. Must never turn an answer that says nothing
//! of the document into one that does.

use std::borrow::Cow;

use http::{Response, header};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause};

use crate::cli::judge::Fault;
use crate::core::violation::FaultKind;
use crate::webhook::judge::NAME_COLLISION;
use crate::webhook::review::CAUSES_MAX;

/// Name of the rule of faults that the API server, or whom it asks, found.
pub(in crate::cli) const RULE: &str = "api-server";

/// What the API server says of its own rules in CEL when the schema found faults (k8s.io/apiextensions-apiserver).
const RULES_LEFT_OUT: &str = "some validation rules were not checked because the object was invalid";

/// What the API server says of a document.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum Told {
    /// It would store it.
    Admitted { warnings: Vec<String> },
    /// It would not, for these faults.
    Refused { faults: Vec<Fault>, warnings: Vec<String> },
    /// It would not, because of who asks or where: a right, a quota, a policy.
    Forbidden { why: String, warnings: Vec<String> },
    /// Somebody stored, changed or deleted the object in between; with what it says to that.
    Overtaken(String),
    /// It could not, or may not, be asked; and why.
    Unasked(String),
}

impl Default for Told {
    fn default() -> Self {
        Self::Admitted { warnings: Vec::new() }
    }
}

impl Told {
    /// The same, found after `faults`, of which there is one at least.
    pub(super) fn with_faults_first(self, mut faults: Vec<Fault>) -> Self {
        if matches!(self, Self::Overtaken(_) | Self::Unasked(_)) {
            return self;
        }
        let (more, warnings, _) = self.into_parts();
        faults.extend(more);
        Self::Refused { faults, warnings }
    }

    /// The faults, the warnings, and why it could not be asked.
    pub(in crate::cli) fn into_parts(self) -> (Vec<Fault>, Vec<String>, Option<String>) {
        match self {
            Self::Admitted { warnings } => (Vec::new(), warnings, None),
            Self::Refused { faults, warnings } => (faults, warnings, None),
            Self::Forbidden { why, warnings } => (vec![of_all(why, FaultKind::Forbidden)], warnings, None),
            Self::Overtaken(why) | Self::Unasked(why) => (Vec::new(), Vec::new(), Some(why)),
        }
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Reply {
    /// Of HTTP.
    pub(super) code: u16,
    /// A `Status` when it is none of 200 and 201.
    pub(super) body: Vec<u8>,
    warnings: Vec<String>,
}

impl Reply {
    pub(super) fn new(head: &Response<()>, body: Vec<u8>) -> Self {
        let warnings = head.headers().get_all(header::WARNING).iter();
        let warnings = warnings.filter_map(|value| warning(&String::from_utf8_lossy(value.as_bytes())));
        Self {
            code: head.status().as_u16(),
            body,
            warnings: warnings.collect(),
        }
    }

    /// The status; with nothing but the text when it is none.
    pub(super) fn status(&self) -> Status {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Status {
            message: Some(String::from_utf8_lossy(&self.body).trim().to_owned()),
            ..Status::default()
        })
    }

    /// Fields that the API server does not know, where that alone is why it refuses (k8s.io/apimachinery,
    /// `runtime.NewStrictDecodingError`): 400 of a create, and of a patch 422 with the patched object before the text.
    pub(super) fn unknown_fields(&self) -> Vec<Fault> {
        let status = self.status();
        let causes = status.details.and_then(|details| details.causes).unwrap_or_default();
        let is_of_patch = causes.iter().any(|cause| cause.field.as_deref() == Some("patch"));
        if self.code != 400 && !(self.code == 422 && is_of_patch) {
            return Vec::new();
        }
        let message = status.message.unwrap_or_default();
        let Some((_, list)) = message.rsplit_once("strict decoding error: ") else {
            return Vec::new();
        };
        let fields = list.split("unknown field \"").skip(1);
        let fields = fields.filter_map(|rest| rest.split('"').next());
        let unknown = |field: &str| Fault {
            field: field.to_owned(),
            rule: RULE,
            reason: FaultKind::Forbidden.as_str().into(),
            message: "unknown field".to_owned(),
        };
        fields.map(unknown).collect()
    }

    /// What is said of the document.
    pub(super) fn told(self) -> Told {
        if matches!(self.code, 200 | 201) {
            return Told::Admitted {
                warnings: self.warnings,
            };
        }
        let status = self.status();
        let message = status.message.clone().unwrap_or_else(|| format!("HTTP {}", self.code));
        let reason = status.reason.clone().unwrap_or_default();
        let of_namespace = status
            .details
            .as_ref()
            .is_some_and(|d| d.kind.as_deref() == Some("namespaces"));
        match self.code {
            403 => Told::Forbidden {
                why: message,
                warnings: self.warnings,
            },
            404 if of_namespace => Told::Refused {
                faults: vec![Fault {
                    field: "metadata.namespace".to_owned(),
                    ..of_all(message, FaultKind::Invalid)
                }],
                warnings: self.warnings,
            },
            404 | 409 if reason != "Invalid" => Told::Overtaken(message),
            401 | 404 | 405 | 408 | 429 | 500.. => Told::Unasked(message),
            _ => Told::Refused {
                faults: faults(status, message),
                warnings: self.warnings,
            },
        }
    }
}

/// The causes as faults; without any, the message is the fault of the whole document.
fn faults(status: Status, message: String) -> Vec<Fault> {
    let causes = status.details.and_then(|details| details.causes).unwrap_or_default();
    if causes.is_empty() {
        return vec![of_all(message, FaultKind::Invalid)];
    }
    // Said beside other faults only: which of its own rules the API server then left out.
    let is_remark = |cause: &StatusCause| {
        let message = cause.message.as_deref().unwrap_or_default();
        message.contains(RULES_LEFT_OUT)
    };
    let (remarks, faults): (Vec<_>, Vec<_>) = causes.into_iter().partition(is_remark);
    let told = if faults.is_empty() { remarks } else { faults };
    told.into_iter().map(fault).collect()
}

fn fault(cause: StatusCause) -> Fault {
    let message = cause.message.unwrap_or_default();
    let is_collision = message.starts_with(NAME_COLLISION);
    Fault {
        // The API server writes so for an object as a whole.
        field: cause
            .field
            .filter(|field| field != "<nil>")
            .map(|field| field.trim_start_matches('.').to_owned())
            .unwrap_or_default(),
        rule: if is_collision { NAME_COLLISION } else { RULE },
        reason: cause
            .reason
            .map_or(Cow::Borrowed(FaultKind::Invalid.as_str()), Cow::Owned),
        message,
    }
}

fn of_all(message: String, kind: FaultKind) -> Fault {
    Fault {
        field: String::new(),
        rule: RULE,
        reason: kind.as_str().into(),
        message,
    }
}

/// The text of a `Warning` header (RFC 7234, 5.5): code, agent, quoted text.
fn warning(header: &str) -> Option<String> {
    let (_, quoted) = header.split_once('"')?;
    let (mut text, mut escaped) = (String::new(), false);
    for character in quoted.chars() {
        match character {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return Some(text),
            character => {
                escaped = false;
                text.push(character);
            }
        }
    }
    None
}

/// The faults that were found here with those of the API server that say more. It judges by the same rules, by the
/// schema in words of its own, and at most [`CAUSES_MAX`] faults; so what it says of a field that has a fault already is
/// left out, but for a collision, which only it can know of.
pub(in crate::cli) fn join(mut found_here: Vec<Fault>, told: Vec<Fault>) -> Vec<Fault> {
    let is_known = |fault: &Fault| {
        let is_collision = fault.rule == NAME_COLLISION;
        let same_field = |here: &&Fault| here.field == fault.field;
        let is_rest = found_here.len() > CAUSES_MAX && fault.field == "spec" && fault.message.starts_with("and ");
        let here = found_here.iter().filter(same_field);
        is_rest
            || here
                .into_iter()
                .any(|here| !is_collision || here.rule == NAME_COLLISION)
    };
    let new: Vec<Fault> = told.into_iter().filter(|fault| !is_known(fault)).collect();
    found_here.extend(new);
    found_here
}

#[cfg(test)]
mod tests;
