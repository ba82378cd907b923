//! Serves the proxy's connections: each request is judged, passed on, and its answer streamed back.

use std::convert::Infallible;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use serde_json::json;
use tokio::net::TcpStream;

use super::{Fault, RequestInfo, Shared};

/// An answer's body: the API server's, streamed, or our own.
type Answer = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The way to the API server: kube's client without credentials and without retries.
pub(super) struct Upstream {
    config: kube::Config,
}

impl Upstream {
    /// An API server's URL and the file of its authority.
    pub(super) fn new(url: &str, ca: &Path) -> Result<Self> {
        // Fails when a provider is set already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = kube::Config::new(url.parse()?);
        config.root_cert_file = Some(ca.to_owned());
        config.default_retry = false;
        Ok(Self { config })
    }
}

/// Accepts connections until the thread ends.
pub(super) async fn serve(listener: TcpListener, upstream: Upstream, shared: Arc<Shared>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let client = kube::Client::try_from(upstream.config)?;
    loop {
        let (stream, _) = listener.accept().await?;
        if *shared.cut.borrow() {
            continue;
        }
        tokio::spawn(connection(stream, client.clone(), Arc::clone(&shared)));
    }
}

async fn connection(stream: TcpStream, client: kube::Client, shared: Arc<Shared>) {
    let mut cut = shared.cut.subscribe();
    let service = service_fn(|request| answer(request, client.clone(), Arc::clone(&shared)));
    // An error is a fault of ours or a client that went away; the connection is closed in both cases.
    tokio::select! {
        _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service) => {}
        _ = cut.wait_for(|cut| *cut) => {}
    }
}

/// The answer to a request; an error closes the connection without one.
async fn answer(request: Request<Incoming>, client: kube::Client, shared: Arc<Shared>) -> Result<Response<Answer>> {
    let info = RequestInfo::new(request.method(), request.uri());
    let fault = shared.judge(&info);
    match fault {
        None => pass(request, client).await,
        Some(Fault::Delay(time)) => {
            tokio::time::sleep(time).await;
            pass(request, client).await
        }
        Some(Fault::Drop) => Err(anyhow!("{info} is dropped")),
        Some(Fault::CutAll) => {
            shared.cut.send_replace(true);
            Err(anyhow!("{info} and all others are cut"))
        }
        Some(Fault::LoseAnswer) => {
            done(request, client).await?;
            Err(anyhow!("the answer to {info} is lost"))
        }
        Some(Fault::PassThenKill(process)) => {
            done(request, client).await?;
            process.kill()?;
            Err(anyhow!("{info} was the last of {}", process.name()))
        }
        Some(Fault::Answer { code, reason, message }) => status(code, &reason, &message),
    }
}

/// Passes a request on.
async fn pass(request: Request<Incoming>, client: kube::Client) -> Result<Response<Answer>> {
    let (mut parts, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    // They are of this connection, not of the one to the API server.
    for header in [HOST, CONNECTION, TRANSFER_ENCODING] {
        parts.headers.remove(header);
    }
    let answer = client.send(Request::from_parts(parts, Body::from(bytes))).await;
    let answer = answer.context("the API server does not answer")?;
    let (mut parts, body) = answer.into_parts();
    for header in [CONNECTION, TRANSFER_ENCODING] {
        parts.headers.remove(header);
    }
    // Framed anew by our side, whatever version of HTTP the API server spoke.
    parts.version = hyper::Version::HTTP_11;
    Ok(Response::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
}

/// Passes a request on and waits until the API server has done it.
async fn done(request: Request<Incoming>, client: kube::Client) -> Result<()> {
    pass(request, client)
        .await?
        .into_body()
        .collect()
        .await
        .map_err(|error| anyhow!(error))?;
    Ok(())
}

/// An answer that looks like one of the API server.
fn status(code: u16, reason: &str, message: &str) -> Result<Response<Answer>> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    let body = Full::new(Bytes::from(status.to_string())).map_err(|never: Infallible| match never {});
    let mut answer = Response::builder()
        .status(code)
        .header(CONTENT_TYPE, "application/json");
    if code == 429 {
        answer = answer.header(RETRY_AFTER, "1");
    }
    Ok(answer.body(body.boxed_unsync())?)
}
