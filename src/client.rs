//! The clients of the API server and what stands in front of them: request metrics, and the gate that lets no write
//! through after the lease may have been lost.
//!
//! kube's own retries are off for every client made here: a retry inside the client hides what happens from status and
//! metrics, may go on for minutes, and would be sent behind the gate's back. Watches, the lease and each reconcile have
//! a back-off of their own. Must never change a request.

use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, Uri};
use kube::api::{DeleteParams, Preconditions};
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use tower::{BoxError, Layer, Service};

use crate::leader::WriteGate;
use crate::telemetry::Metrics;
use crate::telemetry::labels::{ApiResource, Verb};

/// How long making a connection may take. The API server is in the same network; kube's 30 s would outlast a lease.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client whose requests are counted.
///
/// Fails when the configuration names credentials that cannot be read.
pub fn counted(config: &Config, metrics: &Metrics) -> Result<Client, kube::Error> {
    let builder = ClientBuilder::try_from(without_retries(config))?;
    Ok(builder.with_layer(&Counted(metrics.clone())).build())
}

/// A client whose requests are counted and whose writes pass only while `gate` is open. Fails as [`counted`] does.
pub fn gated(config: &Config, metrics: &Metrics, gate: &WriteGate) -> Result<Client, kube::Error> {
    let builder = ClientBuilder::try_from(without_retries(config))?;
    // The gate is the inner one of the two: what it is asked last is what is sent next.
    Ok(builder
        .with_layer(&Gated(gate.clone()))
        .with_layer(&Counted(metrics.clone()))
        .build())
}

fn without_retries(config: &Config) -> Config {
    let mut config = config.clone();
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config
}

/// `params` for exactly the object with this uid: another one of its name is refused with 409.
#[must_use]
pub fn only(params: DeleteParams, uid: &str) -> DeleteParams {
    DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        ..params
    }
}

/// An error for people, in one line: what the API server says of a refusal, and of anything else all causes, for the last
/// one (no route, a name that is not known) is what has to be mended.
#[must_use]
pub fn in_words(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error
        && !status.message.is_empty()
    {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Wrappers repeat what they wrap.
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}

/// A write was not sent: this process no longer holds the lease, or cannot be sure that it does.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the lease may have been lost; nothing was sent")]
pub struct GateShut;

/// A write was under way, perhaps still waiting for a connection, when this process could no longer be sure that it
/// holds the lease. Whether it was sent is not known.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the lease may have been lost while the request was under way; its answer is not waited for")]
pub struct GateShutMeanwhile;

/// Lets writes through only while a [`WriteGate`] is open: it is asked before a write is handed on, and again each time
/// the write could go a step further. A request may wait for seconds for a connection to be made, and must not be sent
/// when that is there and the lease is not.
#[derive(Clone, Debug)]
pub struct Gated(pub WriteGate);

impl<S> Layer<S> for Gated {
    type Service = GatedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GatedService {
            inner,
            gate: self.0.clone(),
        }
    }
}

/// See [`Gated`].
#[derive(Clone, Debug)]
pub struct GatedService<S> {
    inner: S,
    gate: WriteGate,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

impl<S, B> Service<Request<Body>> for GatedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<Response<B>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.method().is_safe() {
            let answer = self.inner.call(request);
            return Box::pin(async move { answer.await.map_err(Into::into) });
        }
        if !self.gate.is_open() {
            return Box::pin(async { Err(GateShut.into()) });
        }
        let gate = self.gate.clone();
        let mut answer = Box::pin(self.inner.call(request));
        Box::pin(poll_fn(move |cx| {
            if gate.is_open() {
                answer.as_mut().poll(cx).map_err(Into::into)
            } else {
                Poll::Ready(Err(GateShutMeanwhile.into()))
            }
        }))
    }
}

/// Counts requests by verb, resource and answer.
#[derive(Clone, Debug)]
pub struct Counted(pub Metrics);

impl<S> Layer<S> for Counted {
    type Service = CountedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CountedService {
            inner,
            metrics: self.0.clone(),
        }
    }
}

/// See [`Counted`].
#[derive(Clone, Debug)]
pub struct CountedService<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, B> Service<Request<Body>> for CountedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<Response<B>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (verb, resource) = verb_and_resource(request.method(), request.uri());
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into);
            let code = answer.as_ref().map_or(0, |response| response.status().as_u16());
            // What the gate held back was never a request.
            if !answer.as_ref().is_err_and(|error| error.is::<GateShut>()) {
                metrics.api_request(verb, resource, code);
            }
            answer
        })
    }
}

/// What a request asks for, from its method and path (`/api/v1/...`, `/apis/{group}/{version}/...`, each with or
/// without `namespaces/{namespace}`).
fn verb_and_resource(method: &Method, uri: &Uri) -> (Verb, ApiResource) {
    let mut parts = uri.path().split('/').filter(|part| !part.is_empty());
    let skipped = match parts.next() {
        Some("api") => 1,
        Some("apis") => 2,
        _ => return (Verb::Other, ApiResource::Other),
    };
    let mut rest: Vec<&str> = parts.skip(skipped).collect();
    if let ["namespaces", _, _, ..] = rest.as_slice() {
        rest.drain(..2);
    }
    let named = rest.len() > 1;
    let watch = uri
        .query()
        .is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
    let verb = match (method.as_str(), named) {
        ("GET", _) if watch => Verb::Watch,
        ("GET", true) => Verb::Get,
        ("GET", false) => Verb::List,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::Delete,
        ("DELETE", false) => Verb::DeleteCollection,
        _ => Verb::Other,
    };
    let name = match rest.as_slice() {
        [plural, _, "status"] => format!("{plural}/status"),
        [plural, ..] => (*plural).to_owned(),
        [] => String::new(),
    };
    let resource = ApiResource::ALL.iter().find(|resource| resource.as_str() == name);
    (verb, resource.copied().unwrap_or(ApiResource::Other))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use k8s_openapi::api::core::v1::Pod;
    use kube::Api;
    use kube::api::PostParams;
    use tokio::time::{Instant, sleep};

    use super::*;

    fn named(method: &Method, uri: &str) -> (Verb, ApiResource) {
        verb_and_resource(method, &uri.parse().expect("a URI"))
    }

    /// An API server to which it takes `delay` to connect; notes the methods of what reaches it.
    fn slow_to_connect(delay: Duration) -> (Client, WriteGate, Arc<Mutex<Vec<Method>>>) {
        let (gate, reached) = (WriteGate::closed(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&reached);
        let server = tower::service_fn(move |request: Request<Body>| {
            let noted = Arc::clone(&noted);
            async move {
                sleep(delay).await;
                noted.lock().unwrap().push(request.method().clone());
                let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}"#;
                Ok::<_, BoxError>(Response::new(Body::from(pod.as_bytes().to_vec())))
            }
        });
        let client = Client::new(Gated(gate.clone()).layer(server), "ns");
        (client, gate, reached)
    }

    #[test]
    fn an_error_is_told_in_the_words_of_the_api_server_or_with_its_causes() {
        let refusal = kube::core::Status::failure("pods is forbidden", "Forbidden").with_code(403);
        assert_eq!(in_words(&kube::Error::Api(refusal.boxed())), "pods is forbidden");
        let refused = std::io::Error::other("connection refused");
        assert_eq!(
            in_words(&kube::Error::Service(refused.into())),
            "ServiceError: connection refused"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_for_its_connection_past_the_deadline_is_not_sent() {
        let (client, gate, reached) = slow_to_connect(Duration::from_secs(5));
        let pods = Api::<Pod>::default_namespaced(client);
        gate.open_until(Instant::now() + Duration::from_secs(2));
        let refused = pods.create(&PostParams::default(), &Pod::default()).await.unwrap_err();
        assert!(format!("{refused:?}").contains("GateShutMeanwhile"), "{refused:?}");
        assert_eq!(*reached.lock().unwrap(), Vec::<Method>::new());
        pods.get("p").await.expect("reads are free");
        let refused = pods.create(&PostParams::default(), &Pod::default()).await.unwrap_err();
        assert!(format!("{refused:?}").contains("GateShut"), "{refused:?}");
        assert_eq!(*reached.lock().unwrap(), [Method::GET]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_sent_when_the_lease_was_renewed_while_it_waited() {
        let (client, gate, reached) = slow_to_connect(Duration::from_secs(5));
        gate.open_until(Instant::now() + Duration::from_secs(2));
        let renewed = gate.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            renewed.open_until(Instant::now() + Duration::from_secs(10));
        });
        let pods = Api::<Pod>::default_namespaced(client);
        pods.create(&PostParams::default(), &Pod::default())
            .await
            .expect("it is sent");
        assert_eq!(*reached.lock().unwrap(), [Method::POST]);
    }

    #[test]
    fn requests_are_named_as_the_audit_log_names_them() {
        for (method, uri, verb, resource) in [
            (
                Method::GET,
                "/api/v1/pods?&watch=true&labelSelector=a",
                Verb::Watch,
                ApiResource::Pods,
            ),
            (Method::GET, "/api/v1/pods?limit=500", Verb::List, ApiResource::Pods),
            (
                Method::POST,
                "/api/v1/namespaces/n/pods",
                Verb::Create,
                ApiResource::Pods,
            ),
            (
                Method::DELETE,
                "/api/v1/namespaces/n/pods/x",
                Verb::Delete,
                ApiResource::Pods,
            ),
            (
                Method::PUT,
                "/apis/streams.sentry.io/v1alpha1/namespaces/n/streamingpipelines/x/status",
                Verb::Update,
                ApiResource::PipelineStatus,
            ),
            (Method::GET, "/api/v1/namespaces/n", Verb::Get, ApiResource::Namespaces),
            (
                Method::PUT,
                "/apis/coordination.k8s.io/v1/namespaces/n/leases/l",
                Verb::Update,
                ApiResource::Leases,
            ),
            (Method::GET, "/version", Verb::Other, ApiResource::Other),
        ] {
            assert_eq!(named(&method, uri), (verb, resource), "{method} {uri}");
        }
    }
}
