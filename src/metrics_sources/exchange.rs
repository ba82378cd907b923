//! One request to a source and its answer, as bytes.
//!
//! Must never call another address than the source's, nor read more of an answer than its limit.

use std::error::Error;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;

use super::settings::SourceSettings;
use super::trust::Trust;
use super::{Failure, secrets};
use crate::telemetry::labels::SourceOutcome;

/// What came back.
pub(super) struct Exchanged {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

/// The query as a form. In a function of its own, for its writer may not be held while a request waits.
fn form(query: &str, limit: Duration) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("query", query);
    form.append_pair("timeout", &format!("{}ms", limit.as_millis().max(1)));
    form.finish()
}

/// Sends the query and reads the whole answer. `limit` is told to Prometheus, which gives up a query that nobody waits for
/// any more; the caller keeps it.
pub(super) async fn exchange(
    settings: &SourceSettings,
    trust: &Trust,
    query: &str,
    limit: Duration,
) -> Result<Exchanged, Failure> {
    let client = trust.client().await?;
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&settings.endpoint)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "application/json")
        .body(Full::new(Bytes::from(form(query, limit))))
        .map_err(|error| Failure::new(SourceOutcome::Network, format!("cannot be asked: {error}")))?;
    let headers = request.headers_mut();
    headers.extend(settings.headers.clone());
    if let Some(authorization) = secrets::authorization(&settings.credentials).await? {
        headers.insert(header::AUTHORIZATION, authorization);
    }
    let response = client.request(request).await.map_err(|error| {
        let what = if error.is_connect() {
            "cannot be reached"
        } else {
            "broke off before it answered"
        };
        Failure::new(SourceOutcome::Network, format!("{what}: {}", first_cause(&error)))
    })?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), settings.body_limit).collect().await;
    let body = body.map_err(|error| {
        if error.is::<LengthLimitError>() {
            let words = format!(
                "answers with more than {} bytes; let the query aggregate",
                settings.body_limit
            );
            return Failure::new(SourceOutcome::Malformed, words);
        }
        let words = format!("broke off in the middle of its answer: {}", first_cause(&*error));
        Failure::new(SourceOutcome::Network, words)
    })?;
    let body = body.to_bytes();
    Ok(Exchanged { status, body })
}

/// The words of what began it: a name that is not known, a refused connection, a certificate that does not hold. All above
/// it only repeats that the request failed.
fn first_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
