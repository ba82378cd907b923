//! The routes `/mutate` and `/validate`: bounds on what is read, a deadline, and a status for each kind of bad input.
//!
//! Must never answer later than the API server waits, and never read a body for which there is no place.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::StreamExt;
use http::{HeaderMap, Request, StatusCode, header};
use jiff::Timestamp;
use tokio::time::{Instant, timeout};

use super::authorizer::Authorizer;
use super::judge;
use super::manifests::{MUTATE_PATH, VALIDATE_PATH};
use super::names::Names;
use super::review::{self, Answer, Kind, NotAReview, Operation};
use crate::server::gate::InHand;
use crate::server::{Gate, WorkLimits};
use crate::telemetry::Metrics;
use crate::telemetry::labels::{AdmissionKind, AdmissionOperation, AdmissionOutcome, AdmissionPath};

/// From this size on a body is judged on a thread for blocking work: parsing and rendering it may take tens of
/// milliseconds, in which a core would serve nobody else.
const LARGE_BODY_BYTES: usize = 128 * 1024;

/// What the routes work with.
#[derive(Clone)]
pub struct Deps {
    /// Who holds which names.
    pub names: Arc<Names>,
    /// Who may do what the operator does for them; `None`: nobody is asked.
    pub authorizer: Option<Arc<Authorizer>>,
    /// Names of the metrics sources that analyses may ask.
    pub metrics_sources: Arc<BTreeSet<String>>,
    /// Where requests are counted.
    pub metrics: Metrics,
    /// What bounds the requests.
    pub limits: WorkLimits,
}

#[derive(Clone)]
struct App {
    gate: Gate,
    deps: Deps,
}

/// The routes. The query (`?timeout=5s`) is ignored: the deadline is ours.
pub fn router(deps: Deps) -> Router {
    let app = App {
        gate: Gate::new(&deps.limits),
        deps,
    };
    let route = |path: AdmissionPath| {
        post(move |State(app): State<App>, request: Request<Body>| async move { app.admit(path, request).await })
    };
    Router::new()
        .route(MUTATE_PATH, route(AdmissionPath::Mutate))
        .route(VALIDATE_PATH, route(AdmissionPath::Validate))
        .with_state(app)
}

/// What is answered, and under which labels it is counted.
struct Judged {
    response: Response,
    kind: AdmissionKind,
    operation: AdmissionOperation,
    outcome: AdmissionOutcome,
}

impl Judged {
    /// An answer to something that could not be read.
    fn unread(outcome: AdmissionOutcome, response: impl IntoResponse) -> Self {
        Self {
            response: response.into_response(),
            kind: AdmissionKind::Other,
            operation: AdmissionOperation::Other,
            outcome,
        }
    }
}

impl App {
    async fn admit(self, path: AdmissionPath, request: Request<Body>) -> Response {
        let arrived = Instant::now();
        let judged = match timeout(self.deps.limits.deadline, self.take(path, request)).await {
            Ok(judged) => judged,
            Err(_) => Judged::unread(AdmissionOutcome::Unavailable, too_late(self.deps.limits.deadline)),
        };
        let metrics = &self.deps.metrics;
        metrics.admission(judged.kind, judged.operation, judged.outcome);
        metrics.admission_duration(path, arrived.elapsed());
        judged.response
    }

    async fn take(&self, path: AdmissionPath, request: Request<Body>) -> Judged {
        let place = match self.gate.enter().await {
            Ok(place) => place,
            Err(overloaded) => return Judged::unread(AdmissionOutcome::Overloaded, overloaded),
        };
        let (head, body) = request.into_parts();
        if !is_json(&head.headers) {
            let text = "Content-Type must be application/json\n";
            return Judged::unread(AdmissionOutcome::Malformed, (StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let body = match place.receive(read(body, self.deps.limits.body_max_bytes)).await {
            Ok(Ok(body)) => body,
            Ok(Err(fault)) => return Judged::unread(AdmissionOutcome::Malformed, fault),
            Err(too_slow) => return Judged::unread(AdmissionOutcome::Overloaded, too_slow),
        };
        self.answer(path, &place, body).await.unwrap_or_else(|judged| *judged)
    }

    /// Reads, asks and judges; either way what is answered. Reading and judging take a slot each, asking none: an API
    /// server that is slow to say who may do what must not hold up those who need not be asked about.
    async fn answer(&self, path: AdmissionPath, place: &InHand, body: Vec<u8>) -> Result<Judged, Box<Judged>> {
        let is_large = body.len() >= LARGE_BODY_BYTES;
        let read = work(place, is_large, move || decode(&body)).await??;
        // The queries of one are up to 160 KiB of a language of their own.
        let is_large = is_large || read.request.kind == Kind::RolloutAnalysis;
        if path == AdmissionPath::Validate
            && let Some(authorizer) = &self.deps.authorizer
            && let Some(objection) = authorizer.objection(&read.request).await
        {
            return Ok(read.judged(&objection));
        }
        let (names, sources) = (Arc::clone(&self.deps.names), Arc::clone(&self.deps.metrics_sources));
        work(place, is_large, move || {
            let request = &read.request;
            let answer = match (path, request.kind) {
                (AdmissionPath::Mutate, _) => judge::mutate(request),
                (AdmissionPath::Validate, Kind::StreamingPipeline) => {
                    judge::validate(request, &names, Timestamp::now())
                }
                (AdmissionPath::Validate, Kind::RolloutAnalysis) => judge::validate_analysis(request, &sources),
            };
            read.judged(&answer)
        })
        .await
    }
}

/// Does a piece of work in a slot: at once, or on a thread for blocking work. Fails with what is answered instead.
async fn work<T: Send + 'static>(
    place: &InHand,
    is_large: bool,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Box<Judged>> {
    let Some(slot) = place.slot().await else {
        return Err(Box::new(Judged::unread(
            AdmissionOutcome::Unavailable,
            StatusCode::SERVICE_UNAVAILABLE,
        )));
    };
    if !is_large {
        return Ok(job());
    }
    let job = move || {
        let done = job();
        drop(slot);
        done
    };
    tokio::task::spawn_blocking(job).await.map_err(|error| {
        tracing::error!("an admission request ended without an answer: {error}");
        Box::new(Judged::unread(
            AdmissionOutcome::Unavailable,
            StatusCode::INTERNAL_SERVER_ERROR,
        ))
    })
}

/// A review that can be judged.
struct Read {
    uid: String,
    request: review::Request,
}

impl Read {
    fn judged(&self, answer: &Answer) -> Judged {
        Judged {
            response: encode(&self.uid, answer),
            kind: match self.request.kind {
                Kind::StreamingPipeline => AdmissionKind::StreamingPipeline,
                Kind::RolloutAnalysis => AdmissionKind::RolloutAnalysis,
            },
            operation: match self.request.operation {
                Operation::Create => AdmissionOperation::Create,
                Operation::Update => AdmissionOperation::Update,
                Operation::Other => AdmissionOperation::Other,
            },
            outcome: outcome(answer),
        }
    }
}

fn decode(body: &[u8]) -> Result<Read, Box<Judged>> {
    let review = review::decode(body).map_err(|fault| Box::new(Judged::unread(AdmissionOutcome::Malformed, fault)))?;
    match review.request {
        Ok(request) => Ok(Read {
            uid: review.uid,
            request,
        }),
        Err(why) => {
            let response = encode(&review.uid, &Answer::malformed(&why));
            Err(Box::new(Judged::unread(AdmissionOutcome::Malformed, response)))
        }
    }
}

fn outcome(answer: &Answer) -> AdmissionOutcome {
    match &answer.refusal {
        None if answer.patch.is_some() => AdmissionOutcome::Patched,
        None => AdmissionOutcome::Allowed,
        Some(status) if status.code == Some(503) => AdmissionOutcome::Unavailable,
        Some(_) => AdmissionOutcome::Denied,
    }
}

fn encode(uid: &str, answer: &Answer) -> Response {
    match answer.encode(uid) {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => {
            tracing::error!("the answer to admission request {uid} cannot be written as JSON: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn too_late(deadline: Duration) -> Response {
    let text = format!("no answer within {deadline:?}: the body came too slowly, or too many requests wait\n");
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], text).into_response()
}

/// Whether the body says it is JSON; parameters such as a charset change nothing.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// A body that could not be had.
enum BodyFault {
    TooLarge(usize),
    Broken(axum::Error),
}

impl IntoResponse for BodyFault {
    fn into_response(self) -> Response {
        match self {
            Self::TooLarge(max) => {
                let text = format!("the body is longer than {max} bytes\n");
                (StatusCode::PAYLOAD_TOO_LARGE, text).into_response()
            }
            Self::Broken(error) => (StatusCode::BAD_REQUEST, format!("the body broke off: {error}\n")).into_response(),
        }
    }
}

impl IntoResponse for NotAReview {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, format!("{self}\n")).into_response()
    }
}

/// The whole body, of at most `max` bytes.
///
/// A longer one is read on and thrown away up to twice that: whoever sends it reads our answer only after the last byte
/// is gone, and closing earlier would reset the connection under the answer.
async fn read(body: Body, max: usize) -> Result<Vec<u8>, BodyFault> {
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(BodyFault::Broken)?;
        seen += chunk.len();
        if seen <= max {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = Vec::new();
        }
        if seen > 2 * max {
            break;
        }
    }
    if seen > max {
        Err(BodyFault::TooLarge(max))
    } else {
        Ok(bytes)
    }
}
