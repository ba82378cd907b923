//! A proxy before a Prometheus that fails on purpose, as networks, gateways and a Prometheus in need do.
//!
//! Runs on a thread of its own: a test that blocks does not stop it. Knows nothing of what is asked through it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use futures::future::pending;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, LOCATION};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::background::Background;

type Body = UnsyncBoxBody<Bytes, anyhow::Error>;

/// The proxy; ends when dropped.
#[derive(Debug)]
pub struct MetricsProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _thread: Background,
}

/// What happens to each request until it is taken back.
#[derive(Clone, Debug)]
pub enum Fault {
    /// This code and this body instead of an answer.
    Answer(u16, String),
    /// A redirect to this address.
    Redirect(String),
    /// No answer, and the connection stays open.
    Hang,
    /// The head and the first bytes of an answer; the rest never comes.
    HangInBody,
    /// The connection is closed instead of an answer.
    HangUp,
    /// The head and the first bytes of an answer; then the connection is closed.
    HangUpInBody,
    /// Prometheus' answer, so much later.
    Delay(Duration),
}

/// A request that came, whatever happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    asked: Vec<Asked>,
    /// With it, it speaks TLS.
    tls: Option<Arc<ServerConfig>>,
    /// How many requests are under way, and how many were at most.
    under_way: usize,
    most: usize,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl MetricsProxy {
    /// A proxy before what answers at that URL. Lets everything pass until it is told otherwise.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(upstream: &str) -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            state: Mutex::default(),
        });
        let served = Arc::clone(&shared);
        let thread = Background::start("metrics proxy", async move { serve(listener, served).await })?;
        Ok(Self {
            address,
            shared,
            _thread: thread,
        })
    }

    /// Speaks TLS from now on, with a new certificate for 127.0.0.1, which it gives as PEM. It is its own authority.
    ///
    /// # Errors
    /// When no certificate can be made.
    pub fn renew_certificate(&self) -> Result<String> {
        let key = KeyPair::generate()?;
        let certificate = rcgen::CertificateParams::new([Ipv4Addr::LOCALHOST.to_string()])?.self_signed(&key)?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        self.shared.state().tls = Some(Arc::new(config));
        Ok(certificate.pem())
    }

    /// Its URL, without a slash at the end; https once it has a certificate.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.shared.state().tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Every request meets this from now on.
    pub fn fail(&self, fault: Fault) {
        self.shared.state().fault = Some(fault);
    }

    /// Every request passes from now on.
    pub fn heal(&self) {
        self.shared.state().fault = None;
    }

    /// The requests so far, in the order in which they came.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }

    /// How many requests there were at most at one moment.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.state().most
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way.
struct UnderWay(Arc<Shared>);

impl UnderWay {
    fn new(shared: &Arc<Shared>) -> Self {
        let mut state = shared.state();
        state.under_way += 1;
        state.most = state.most.max(state.under_way);
        drop(state);
        Self(Arc::clone(shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let shared = Arc::clone(&shared);
        let tls = shared.state().tls.clone();
        tokio::spawn(async move {
            match tls {
                None => connection(stream, shared).await,
                // A client that does not trust the certificate ends it here.
                Some(tls) => {
                    if let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await {
                        connection(stream, shared).await;
                    }
                }
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Shared>) {
    let service = service_fn(|request| answer(request, Arc::clone(&shared)));
    // An error is a fault of ours or a client that went away; the connection is closed in both cases.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The answer to a request; an error closes the connection without one.
async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>> {
    let _under_way = UnderWay::new(&shared);
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let asked = Asked {
        line: format!("{} {}", parts.method, parts.uri),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let fault = {
        let mut state = shared.state();
        state.asked.push(asked);
        state.fault.clone()
    };
    let url = format!("{}{}", shared.upstream, parts.uri);
    let pass = pass(parts, &url, body);
    match fault {
        None => pass.await,
        Some(Fault::Delay(time)) => {
            tokio::time::sleep(time).await;
            pass.await
        }
        Some(Fault::Answer(code, body)) => Ok(Response::builder().status(code).body(whole(body))?),
        Some(Fault::Redirect(to)) => {
            let answer = Response::builder().status(302).header(LOCATION, to);
            Ok(answer.body(whole(String::new()))?)
        }
        Some(Fault::Hang) => pending().await,
        Some(Fault::HangInBody) => Ok(Response::new(begun(false))),
        Some(Fault::HangUp) => Err(anyhow!("the connection is closed on purpose")),
        Some(Fault::HangUpInBody) => Ok(Response::new(begun(true))),
    }
}

async fn pass(parts: hyper::http::request::Parts, url: &str, body: Bytes) -> Result<Response<Body>> {
    let mut request = Request::builder().method(parts.method).uri(url);
    if let Some(content_type) = parts.headers.get(CONTENT_TYPE) {
        request = request.header(CONTENT_TYPE, content_type);
    }
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let answer = client.request(request.body(Full::new(body))?).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
    Ok(Response::builder().status(status).body(body)?)
}

fn whole(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// The first bytes of an answer; what follows is the end of the connection, or nothing for ever.
fn begun(closes: bool) -> Body {
    let parts = stream::unfold(0, move |sent| async move {
        if sent == 0 {
            let first = Frame::data(Bytes::from_static(br#"{"status":"success","data":{"#));
            return Some((Ok(first), 1));
        }
        if closes {
            // The bytes go out while nothing further is there.
            tokio::task::yield_now().await;
            return Some((Err(anyhow!("the connection is closed on purpose")), 2));
        }
        pending().await
    });
    StreamBody::new(parts).boxed_unsync()
}
