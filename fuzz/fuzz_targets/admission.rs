//! Any bytes as the body of an admission request: nothing panics, and the answer is a review for whatever has a uid, else
//! a status of HTTP with a text.

#![no_main]

#[path = "../../tests/webhook_https/oracle.rs"]
mod oracle;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::Request;
use kube::runtime::watcher::Event;
use libfuzzer_sys::fuzz_target;
use streaming_operator::server::WorkLimits;
use streaming_operator::telemetry::Metrics;
use streaming_operator::webhook::{Deps, Names, router};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// The handler, without a connection around it.
fn handler() -> (Runtime, Router) {
    let names = Names::new(None, Duration::from_secs(1));
    names.observe(&Event::Init);
    names.observe(&Event::InitDone);
    let deps = Deps {
        names: Arc::new(names),
        authorizer: None,
        metrics_sources: Arc::default(),
        metrics: Metrics::new("0", "0", false),
        limits: WorkLimits::default(),
    };
    (Builder::new_current_thread().enable_time().build().expect("a runtime"), router(deps))
}

thread_local! {
    static HANDLER: (Runtime, Router) = handler();
}

fuzz_target!(|body: &[u8]| {
    for path in ["/mutate", "/validate"] {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(body.to_vec())).expect("a request");
        let (status, answer) = HANDLER.with(|(runtime, router)| {
            runtime.block_on(async {
                let (head, body) = router.clone().oneshot(request).await.expect("an answer").into_parts();
                (head.status.as_u16(), to_bytes(body, usize::MAX).await.expect("a body"))
            })
        });
        assert_eq!(oracle::check(body, status, &answer), Ok(()), "{path}");
    }
});
