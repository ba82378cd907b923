//! The form of what the API server asks and of what it is answered (`admission.k8s.io/v1`).
//!
//! Types of our own: the object under review must stay as it was sent, fields that we do not know included, and the
//! patch of an answer is base64 text. Must never fail without the uid when there is one: an answer without it is
//! reported to the user as a broken webhook instead of as what is wrong.

mod kind;
mod quick;
mod shallow;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::kind::Kind;
use crate::api::rollout_analysis::AnalysisTarget;
use crate::api::stored::decode_typed_fields;
use crate::api::{StreamingPipelineSpec, meta};
use crate::core::violation::Violation;

/// `apiVersion` of the reviews we take and give.
const API_VERSION: &str = "admission.k8s.io/v1";
/// `kind` of the reviews we take and give.
const KIND: &str = "AdmissionReview";
/// Most causes of one answer, before one that says how many more there are.
pub const CAUSES_MAX: usize = 20;

/// What is done to the object under review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is new.
    Create,
    /// It replaces a stored one.
    Update,
    /// DELETE or CONNECT, for which our configurations do not ask.
    Other,
}

/// A review that can be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Kind of the object.
    pub kind: Kind,
    /// What is done.
    pub operation: Operation,
    /// Subresource such as `status`; empty for the object itself.
    pub sub_resource: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object; empty while it has only a `generateName`.
    pub name: String,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Who asks, as the API server has authenticated them.
    pub user: UserInfo,
    /// The object as it would be stored, perhaps without what [`decode`] leaves out.
    pub object: Value,
    /// The stored object that an update would replace; likewise.
    pub old_object: Option<Value>,
}

/// What a body held.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// What the answer must repeat.
    pub uid: String,
    /// The request, or what is wrong with it.
    pub request: Result<Request, String>,
}

/// A body that cannot be answered with a review, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAReview {
    /// No JSON at all.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// JSON without `request.uid`, without which no review can be answered.
    #[error("the body is no AdmissionReview: request.uid is missing")]
    NoRequest,
}

/// What a body holds of a review. The small parts are taken as whatever they are, so that one of a wrong type does not
/// hide the uid; the objects as text, so that each is read by itself.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Envelope<'a> {
    api_version: Value,
    kind: Value,
    #[serde(borrow)]
    request: Option<RawRequest<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawRequest<'a> {
    uid: Value,
    kind: Value,
    operation: Value,
    sub_resource: Value,
    namespace: Value,
    name: Value,
    dry_run: Value,
    user_info: Value,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

/// Reads a body.
///
/// `status`, `managedFields` and the annotation of what kubectl last applied may be left out of the objects. Fails when
/// there is no uid to answer to; any other fault is part of the result.
pub fn decode(body: &[u8]) -> Result<Review, NotAReview> {
    match quick::read(body) {
        Some(review) => Ok(review),
        None => decode_any(body),
    }
}

fn decode_any(body: &[u8]) -> Result<Review, NotAReview> {
    let review: Envelope<'_> = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) if error.is_data() => return unreadable(body, &error),
        Err(error) => return Err(NotAReview::NotJson(error.to_string())),
    };
    let request = review.request.ok_or(NotAReview::NoRequest)?;
    let uid = text(&request.uid).to_owned();
    if uid.is_empty() {
        return Err(NotAReview::NoRequest);
    }
    let is_review = text(&review.kind) == KIND && text(&review.api_version) == API_VERSION;
    let request = if is_review {
        decode_request(request)
    } else {
        Err(format!("this webhook answers kind {KIND} of {API_VERSION} only"))
    };
    Ok(Review { uid, request })
}

/// What is JSON and still cannot be taken apart, such as a field that stands there twice, is answered to its uid.
fn unreadable(body: &[u8], error: &serde_json::Error) -> Result<Review, NotAReview> {
    let review: Value = serde_json::from_slice(body).map_err(|_| NotAReview::NoRequest)?;
    let uid = review.pointer("/request/uid").map(text).unwrap_or_default();
    if uid.is_empty() {
        return Err(NotAReview::NoRequest);
    }
    Ok(Review {
        uid: uid.to_owned(),
        request: Err(format!("the review cannot be read: {error}")),
    })
}

fn decode_request(request: RawRequest<'_>) -> Result<Request, String> {
    let of_kind = |field| request.kind.get(field).map(text).unwrap_or_default();
    let (group, version, kind) = (of_kind("group"), of_kind("version"), of_kind("kind"));
    let Some(kind) = Kind::of(group, version, kind) else {
        return Err(format!(
            "this webhook judges {} and {} of {} only, not kind {kind:?} of {group:?} in version {version:?}; correct the rules of the webhook configuration",
            meta::KIND,
            meta::ANALYSIS_KIND,
            meta::API_VERSION
        ));
    };
    let operation = match text(&request.operation) {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        _ => Operation::Other,
    };
    let object = match request.object {
        Some(object) => read_object(object, "{}")
            .map_err(|error| format!("the object cannot be read: {error}; leave out what is no plain JSON"))?,
        None => Value::Null,
    };
    if operation != Operation::Other && !object.is_object() {
        return Err("request.object is missing".to_owned());
    }
    // Of a stored object that cannot be read nothing is known: then every fault of the new one is new.
    let old_object = request.old_object.and_then(|old| read_object(old, "null").ok());
    let name = match text(&request.name) {
        "" => metadata_text(&object, "name"),
        name => name,
    };
    Ok(Request {
        kind,
        operation,
        sub_resource: text(&request.sub_resource).to_owned(),
        namespace: text(&request.namespace).to_owned(),
        name: name.to_owned(),
        dry_run: request.dry_run == Value::Bool(true),
        user: serde_json::from_value(request.user_info).unwrap_or_default(),
        old_object: old_object.filter(Value::is_object),
        object,
    })
}

/// Reads an object. One that is nested deeper than the reader goes is read down to [`shallow::LEVELS_READ`], with `stand_in` for
/// what lies below. A new and a stored object have different ones: nobody compared what was cut off, so it must not
/// look unchanged.
fn read_object(text: &RawValue, stand_in: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text.get()).or_else(|_| serde_json::from_str(&shallow::shallow(text.get(), stand_in)))
}

impl Request {
    /// Whether the object is only waiting for its finalizers.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        !metadata_text(&self.object, "deletionTimestamp").is_empty()
    }

    /// The spec as it would be stored, with its open objects empty, if it can be read.
    #[must_use]
    pub fn spec(&self) -> Option<StreamingPipelineSpec> {
        decode_typed_fields(self.object.get("spec")?)
    }

    /// The stored spec that an update would replace, with its open objects empty, if there is one that can be read.
    #[must_use]
    pub fn old_spec(&self) -> Option<StreamingPipelineSpec> {
        decode_typed_fields(self.old_object.as_ref()?.get("spec")?)
    }

    /// The target of an analysis, if it can be read.
    #[must_use]
    pub fn target(&self) -> Option<AnalysisTarget> {
        AnalysisTarget::deserialize(self.object.pointer("/spec/target")?).ok()
    }

    /// What a person knows the object by: its name, or what the name will begin with.
    #[must_use]
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() {
            metadata_text(&self.object, "generateName")
        } else {
            &self.name
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn metadata_text<'a>(object: &'a Value, field: &str) -> &'a str {
    let metadata = object.get("metadata").and_then(|metadata| metadata.get(field));
    metadata.map(text).unwrap_or_default()
}

/// What was decided about a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Why it is refused; `None`: admitted.
    pub refusal: Option<Status>,
    /// JSON patch of the object, base64; only with an admission.
    pub patch: Option<String>,
    /// What is said besides, one line each.
    pub warnings: Vec<String>,
}

impl Answer {
    /// Refused as malformed.
    #[must_use]
    pub fn malformed(why: &str) -> Self {
        Self::refused(failure(400, "BadRequest", why.to_owned()))
    }

    /// Refused because it cannot be judged now.
    #[must_use]
    pub fn unavailable(why: &str) -> Self {
        Self::refused(failure(503, "ServiceUnavailable", why.to_owned()))
    }

    /// Refused because of who asks. `why` goes on after the name of the object, as in the API server's own refusals:
    /// `streamingpipelines.streams.sentry.io "checkout" is forbidden: <why>`.
    #[must_use]
    pub fn forbidden(kind: Kind, name: &str, why: &str) -> Self {
        let message = format!("{}.{} {name:?} is forbidden: {why}", kind.plural(), meta::GROUP);
        let mut status = failure(403, "Forbidden", message);
        status.details = Some(StatusDetails {
            group: Some(meta::GROUP.to_owned()),
            // The API server puts the resource here, not the kind, in this kind of refusal.
            kind: Some(kind.plural().to_owned()),
            name: Some(name.to_owned()),
            ..StatusDetails::default()
        });
        Self::refused(status)
    }

    /// Refused for the faults of the object: a `Status` as the API server gives it for its own kinds, with a cause for
    /// each of the first [`CAUSES_MAX`] faults, and a message that repeats them for clients that show only that.
    #[must_use]
    pub fn invalid(kind: Kind, name: &str, violations: &[Violation], warnings: Vec<String>) -> Self {
        let mut causes: Vec<_> = violations.iter().take(CAUSES_MAX).map(cause).collect();
        let mut texts: Vec<_> = violations.iter().take(CAUSES_MAX).map(ToString::to_string).collect();
        let more = violations.len().saturating_sub(CAUSES_MAX);
        if more > 0 {
            let text = format!("and {more} more");
            texts.push(text.clone());
            causes.push(StatusCause {
                // kubectl prints "field: message", so a cause without a field would begin with a colon.
                field: Some("spec".to_owned()),
                message: Some(text),
                reason: None,
            });
        }
        let faults = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{}.{} {name:?} is invalid: {faults}", kind.as_str(), meta::GROUP);
        let mut status = failure(422, "Invalid", message);
        status.details = Some(StatusDetails {
            group: Some(meta::GROUP.to_owned()),
            kind: Some(kind.as_str().to_owned()),
            name: Some(name.to_owned()),
            causes: Some(causes),
            ..StatusDetails::default()
        });
        Self {
            warnings,
            ..Self::refused(status)
        }
    }

    fn refused(status: Status) -> Self {
        Self {
            refusal: Some(status),
            ..Self::default()
        }
    }

    /// The body of the answer to the request `uid`.
    ///
    /// Fails never in practice: all of it is text and numbers.
    pub fn encode(&self, uid: &str) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&ReviewAnswer {
            api_version: API_VERSION,
            kind: KIND,
            response: Response {
                uid,
                allowed: self.refusal.is_none(),
                status: self.refusal.as_ref(),
                patch_type: self.patch.as_ref().map(|_| "JSONPatch"),
                patch: self.patch.as_deref(),
                warnings: &self.warnings,
            },
        })
    }
}

fn cause(violation: &Violation) -> StatusCause {
    StatusCause {
        field: Some(violation.path.clone()),
        message: Some(violation.message.clone()),
        reason: Some(violation.kind.as_str().to_owned()),
    }
}

fn failure(code: i32, reason: &str, message: String) -> Status {
    Status {
        status: Some("Failure".to_owned()),
        code: Some(code),
        reason: Some(reason.to_owned()),
        message: Some(message),
        ..Status::default()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewAnswer<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[cfg(test)]
mod tests;
