//! The form of what the API server asks and of what it is answered (`admission.k8s.io/v1`).
//!
//! Types of our own: the object under review must stay as it was sent, fields that we do not know included, and the
//! patch of an answer is base64 text. Must never fail without the uid when there is one: an answer without it is
//! reported to the user as a broken webhook instead of as what is wrong.

mod quick;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// The object as it would be stored, perhaps without `status` and `managedFields`.
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

/// Reads a body.
///
/// `status` and `managedFields` of the objects may be left out. Fails when there is no uid to answer to; any other fault
/// is part of the result.
pub fn decode(body: &[u8]) -> Result<Review, NotAReview> {
    match quick::read(body) {
        Some(review) => Ok(review),
        None => decode_any(body),
    }
}

fn decode_any(body: &[u8]) -> Result<Review, NotAReview> {
    let review: Value = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) => return unreadable(body, &error),
    };
    let Value::Object(mut review) = review else {
        return Err(NotAReview::NoRequest);
    };
    let Some(Value::Object(request)) = review.remove("request") else {
        return Err(NotAReview::NoRequest);
    };
    let uid = text(&request, "uid");
    if uid.is_empty() {
        return Err(NotAReview::NoRequest);
    }
    let is_review = text(&review, "kind") == KIND && text(&review, "apiVersion") == API_VERSION;
    let request = if is_review {
        decode_request(request)
    } else {
        Err(format!("this webhook answers kind {KIND} of {API_VERSION} only"))
    };
    Ok(Review { uid, request })
}

/// What is valid JSON and still cannot be read, such as an object nested too deep, is answered to its uid.
fn unreadable(body: &[u8], error: &serde_json::Error) -> Result<Review, NotAReview> {
    #[derive(Deserialize)]
    struct Envelope {
        request: Uid,
    }
    #[derive(Deserialize)]
    struct Uid {
        uid: String,
    }
    let envelope: Envelope = serde_json::from_slice(body).map_err(|_| NotAReview::NotJson(error.to_string()))?;
    if envelope.request.uid.is_empty() {
        return Err(NotAReview::NoRequest);
    }
    Ok(Review {
        uid: envelope.request.uid,
        request: Err(format!(
            "the object cannot be read: {error}; make it less deep, or leave out what is no plain JSON"
        )),
    })
}

fn decode_request(mut request: Map<String, Value>) -> Result<Request, String> {
    let kind = match request.get("kind") {
        Some(Value::Object(kind)) => kind.clone(),
        _ => Map::new(),
    };
    let (group, version, kind) = (text(&kind, "group"), text(&kind, "version"), text(&kind, "kind"));
    if (group.as_str(), version.as_str(), kind.as_str()) != (meta::GROUP, meta::VERSION, meta::KIND) {
        return Err(format!(
            "this webhook judges {} of {} only, not kind {kind:?} of {group:?} in version {version:?}; correct the rules of the webhook configuration",
            meta::KIND,
            meta::API_VERSION
        ));
    }
    let operation = match text(&request, "operation").as_str() {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        _ => Operation::Other,
    };
    let object = take_object(&mut request, "object");
    let old_object = take_object(&mut request, "oldObject");
    let object = match (object, operation) {
        (Some(object), _) => object,
        (None, Operation::Other) => Value::Null,
        (None, _) => return Err("request.object is missing".to_owned()),
    };
    let name = match text(&request, "name") {
        name if name.is_empty() => metadata_text(&object, "name"),
        name => name,
    };
    Ok(Request {
        operation,
        sub_resource: text(&request, "subResource"),
        namespace: text(&request, "namespace"),
        name,
        dry_run: request.get("dryRun") == Some(&Value::Bool(true)),
        object,
        old_object,
    })
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

    /// What a person knows the object by: its name, or what the name will begin with.
    #[must_use]
    pub fn display_name(&self) -> String {
        if self.name.is_empty() {
            metadata_text(&self.object, "generateName")
        } else {
            self.name.clone()
        }
    }
}

fn text(object: &Map<String, Value>, field: &str) -> String {
    let text = object.get(field).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn metadata_text(object: &Value, field: &str) -> String {
    let metadata = object.get("metadata").and_then(Value::as_object);
    metadata.map(|metadata| text(metadata, field)).unwrap_or_default()
}

fn take_object(request: &mut Map<String, Value>, field: &str) -> Option<Value> {
    request.remove(field).filter(Value::is_object)
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

    /// Refused for the faults of the object: a `Status` as the API server gives it for its own kinds, with a cause for
    /// each of the first [`CAUSES_MAX`] faults, and a message that repeats them for clients that show only that.
    #[must_use]
    pub fn invalid(name: &str, violations: &[Violation], warnings: Vec<String>) -> Self {
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
        let message = format!("{}.{} {name:?} is invalid: {faults}", meta::KIND, meta::GROUP);
        let mut status = failure(422, "Invalid", message);
        status.details = Some(StatusDetails {
            group: Some(meta::GROUP.to_owned()),
            kind: Some(meta::KIND.to_owned()),
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
