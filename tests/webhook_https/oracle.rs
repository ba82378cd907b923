//! What any answer of the webhook must be, whatever was sent. The fuzz target `admission` asks it too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Most bytes of a text that is no review: it says what is wrong and repeats nothing of the body.
const TEXT_MAX_BYTES: usize = 400;

/// Fails when `answer`, with that HTTP status, is no valid answer to `body`.
///
/// Valid are a status from 400 to 499 with a short text, and, for whatever has a uid, a review with that uid, which
/// either admits, perhaps with a JSON patch, or refuses with a code and a message.
pub(crate) fn check(body: &[u8], status: u16, answer: &[u8]) -> Result<(), String> {
    if status != 200 {
        let text = std::str::from_utf8(answer).map_err(|error| error.to_string())?;
        let is_valid = (400..500).contains(&status) && !text.trim().is_empty() && text.len() <= TEXT_MAX_BYTES;
        return ensure(is_valid, || format!("{status}: {text:?}")).and(match uid(body) {
            Some(uid) => Err(format!("{uid} was answered with {status}")),
            None => Ok(()),
        });
    }
    let review: Value = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let is_review = review["apiVersion"] == "admission.k8s.io/v1" && review["kind"] == "AdmissionReview";
    ensure(is_review, || format!("no review: {review}"))?;
    let response = &review["response"];
    let answered = response["uid"].as_str().unwrap_or_default();
    let is_to_it = match uid(body) {
        Some(uid) => uid == answered,
        // Nested too deep for the reader of this test.
        None => !answered.is_empty() && contains(body, answered.as_bytes()),
    };
    ensure(is_to_it, || format!("the answer is to {answered:?}"))?;
    match response["allowed"].as_bool() {
        Some(true) => admitted(response),
        Some(false) => refused(response),
        None => Err(format!("no verdict: {response}")),
    }
}

fn admitted(response: &Value) -> Result<(), String> {
    ensure(response["status"].is_null(), || {
        format!("admitted with a status: {response}")
    })?;
    let Some(patch) = response["patch"].as_str() else {
        return ensure(response["patchType"].is_null(), || {
            format!("a type without a patch: {response}")
        });
    };
    ensure(response["patchType"] == "JSONPatch", || {
        format!("a patch without its type: {response}")
    })?;
    let patch = STANDARD.decode(patch).map_err(|error| error.to_string())?;
    let patch: Vec<Value> = serde_json::from_slice(&patch).map_err(|error| error.to_string())?;
    let only_adds = patch.iter().all(|operation| {
        let of_the_spec = operation["path"]
            .as_str()
            .is_some_and(|path| path.starts_with("/spec/"));
        operation["op"] == "add" && of_the_spec
    });
    ensure(only_adds && !patch.is_empty(), || {
        format!("more than defaults: {patch:?}")
    })
}

fn refused(response: &Value) -> Result<(), String> {
    let status = &response["status"];
    let code = status["code"].as_u64().unwrap_or_default();
    let message = status["message"].as_str().unwrap_or_default();
    let causes = status["details"]["causes"].as_array();
    let is_valid = match code {
        400 | 503 => causes.is_none(),
        422 => causes.is_some_and(|causes| (1..=21).contains(&causes.len())),
        _ => false,
    };
    let is_valid = is_valid && status["status"] == "Failure" && !message.is_empty();
    ensure(is_valid && response["patch"].is_null(), || {
        format!("no valid refusal: {response}")
    })
}

fn ensure(holds: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

/// `request.uid`, when the body can be read.
fn uid(body: &[u8]) -> Option<String> {
    let review: Value = serde_json::from_slice(body).ok()?;
    let uid = review.as_object()?.get("request")?.as_object()?.get("uid")?.as_str()?;
    (!uid.is_empty()).then(|| uid.to_owned())
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}
