//! `/livez`, `/readyz` and `/metrics`, on a plain port of their own.
//!
//! `/livez` says that the process answers, and nothing else: a restart mends neither a missing API server nor a missing
//! right. Must never show more than names of needs and metrics, for anyone who reaches the port can read it.

use std::fmt::Write as _;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};

use super::readiness::Readiness;
use crate::telemetry::Metrics;
use crate::telemetry::metrics::CONTENT_TYPE;

#[derive(Clone)]
struct Probes {
    readiness: Readiness,
    metrics: Metrics,
}

/// The routes.
pub fn router(readiness: Readiness, metrics: Metrics) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(exposition))
        .with_state(Probes { readiness, metrics })
}

/// 200 when every need is met, else 503 with a line for each that is not.
async fn readyz(State(probes): State<Probes>) -> Response {
    let unmet = probes.readiness.unmet();
    if unmet.is_empty() {
        return "ok\n".into_response();
    }
    let mut text = String::new();
    for (need, why) in unmet {
        // Writing to a String cannot fail.
        let _infallible = writeln!(text, "{need}: {why}");
    }
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

async fn exposition(State(probes): State<Probes>) -> Response {
    match probes.metrics.exposition() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::warn!("metrics cannot be written: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use http::Request;
    use tower::ServiceExt;

    use super::*;
    use crate::server::readiness::Need;

    async fn get(router: &Router, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("an answer");
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.expect("a body");
        (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
    }

    #[tokio::test]
    async fn readyz_lists_what_is_not_ready() {
        let readiness = Readiness::new(&[Need::CachesSynced, Need::Certificate]);
        let router = router(readiness.clone(), Metrics::new("0", "abc", false));
        readiness.not_met(Need::Certificate, "expired");
        let (status, body) = get(&router, "/readyz").await;
        assert_eq!(
            (status, body.as_str()),
            (503, "caches-synced: not yet\ncertificate: expired\n")
        );
        readiness.met(Need::CachesSynced);
        readiness.met(Need::Certificate);
        assert_eq!(get(&router, "/readyz").await, (200, "ok\n".to_owned()));
    }

    #[tokio::test]
    async fn livez_answers_although_nothing_is_ready() {
        let router = router(Readiness::new(&[Need::Running]), Metrics::new("0", "abc", false));
        assert_eq!(get(&router, "/livez").await, (200, "ok\n".to_owned()));
    }

    #[tokio::test]
    async fn metrics_are_open_metrics_text() {
        let router = router(Readiness::new(&[]), Metrics::new("1.2.3", "abc", false));
        let (status, body) = get(&router, "/metrics").await;
        assert_eq!(status, 200);
        assert!(
            body.contains("streaming_operator_build_info{version=\"1.2.3\",commit=\"abc\"} 1"),
            "{body}"
        );
        assert!(body.ends_with("# EOF\n"));
    }
}
