//! A webhook on a free port, and clients that trust its authority alone.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use http::{HeaderMap, Request, header};
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::ext::on_informational;
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher::Event;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::Value;
use streaming_operator::certs::ServingCertificate;
use streaming_operator::certs::authority::{new_authority, new_leaf};
use streaming_operator::certs::pair::Pair;
use streaming_operator::server::{Limits, Transport, WorkLimits, serve, tls};
use streaming_operator::telemetry::Metrics;
use streaming_operator::webhook::authorizer::Authorizer;
use streaming_operator::webhook::{Deps, Names, router};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::sync::CancellationToken;

/// A running webhook.
pub(crate) struct Bed {
    address: SocketAddr,
    authority: Pair,
    served: Arc<ServingCertificate>,
    task: Option<JoinHandle<()>>,
    pub(crate) cancel: CancellationToken,
    pub(crate) metrics: Metrics,
}

impl Bed {
    pub(crate) async fn start() -> Self {
        Self::start_with(Limits::webhook(Duration::ZERO), WorkLimits::default()).await
    }

    pub(crate) async fn start_with(limits: Limits, work: WorkLimits) -> Self {
        let names = Names::new(None, Duration::from_secs(30));
        names.observe(&Event::Init);
        names.observe(&Event::InitDone);
        Self::run(names, None, limits, work).await
    }

    /// With somebody who knows what users may do.
    pub(crate) async fn start_guarded(authorizer: Authorizer) -> Self {
        let names = Names::new(None, Duration::from_secs(30));
        names.observe(&Event::Init);
        names.observe(&Event::InitDone);
        let authorizer = Some(Arc::new(authorizer));
        Self::run(
            names,
            authorizer,
            Limits::webhook(Duration::ZERO),
            WorkLimits::default(),
        )
        .await
    }

    /// With an index of names that has seen no whole list yet.
    pub(crate) async fn start_unsynced() -> Self {
        let names = Names::new(None, Duration::from_secs(30));
        Self::run(names, None, Limits::webhook(Duration::ZERO), WorkLimits::default()).await
    }

    async fn run(names: Names, authorizer: Option<Arc<Authorizer>>, limits: Limits, work: WorkLimits) -> Self {
        let authority = new_authority(Timestamp::now(), SignedDuration::from_hours(1)).expect("an authority");
        let served = Arc::new(ServingCertificate::default());
        let config = tls::server_config(Arc::clone(&served) as Arc<_>).expect("a TLS configuration");
        let metrics = Metrics::new("0", "0", false);
        let router = router(Deps {
            names: Arc::new(names),
            authorizer,
            metrics_sources: Arc::default(),
            metrics: metrics.clone(),
            limits: work,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let cancel = CancellationToken::new();
        let transport = Transport::Tls(TlsAcceptor::from(Arc::new(config)));
        let task = tokio::spawn(serve(listener, transport, router, limits, cancel.clone()));
        let bed = Self {
            address,
            authority,
            served,
            task: Some(task),
            cancel,
            metrics,
        };
        bed.renew_certificate();
        bed
    }

    /// Serves a new certificate from now on.
    pub(crate) fn renew_certificate(&self) -> CertificateDer<'static> {
        let life = SignedDuration::from_hours(1);
        let hosts = ["localhost".to_owned()].into();
        let leaf = new_leaf(&self.authority, &hosts, Timestamp::now(), life).expect("a leaf");
        self.served.serve(leaf.certified());
        leaf.certificate().der.clone()
    }

    /// A TLS connection that offers these protocols.
    async fn tls(&self, protocols: &[&[u8]]) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.authority.certificate().der.clone())
            .expect("an authority");
        let mut config = ClientConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    pub(crate) async fn connect(&self) -> io::Result<Client> {
        let stream = self.tls(&[b"http/1.1"]).await?;
        let certificates = stream.get_ref().1.peer_certificates().expect("a certificate");
        let certificate = certificates[0].clone().into_owned();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        Ok(Client { sender, certificate })
    }

    pub(crate) async fn client(&self) -> Client {
        self.connect().await.expect("a connection")
    }

    /// The protocol that is agreed on when these are offered.
    pub(crate) async fn negotiate(&self, protocols: &[&[u8]]) -> io::Result<Option<Vec<u8>>> {
        let stream = self.tls(protocols).await?;
        Ok(stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec))
    }

    /// A connection that has shaken hands and sends nothing.
    pub(crate) async fn silent(&self) -> io::Result<TlsStream<TcpStream>> {
        self.tls(&[b"http/1.1"]).await
    }

    /// Begins a TLS handshake as a client does, goes on with garbage, and goes.
    pub(crate) async fn send_half_a_handshake(&self) {
        let config = ClientConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        let mut client = ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut hello = Vec::new();
        client.write_tls(&mut hello).expect("the greeting");
        hello.extend_from_slice(&[0xff; 200]);
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        stream.write_all(&hello).await.expect("sent");
    }

    /// Sends what is no TLS, and goes.
    pub(crate) async fn send_garbage(&self) {
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        stream.write_all(b"\x00\xffGET / HTTP/1.1\r\n\r\n").await.expect("sent");
    }

    /// Waits until the server has ended.
    pub(crate) async fn ended(&mut self) {
        let task = self.task.take().expect("it has not ended yet");
        task.await.expect("no panic");
    }
}

/// A connection.
pub(crate) struct Client {
    sender: SendRequest<Body>,
    /// What the server showed.
    pub(crate) certificate: CertificateDer<'static>,
}

impl Client {
    /// Sends a request with a whole body.
    pub(crate) async fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> Answer {
        let request = post(path, content_type)
            .body(Body::from(body.to_vec()))
            .expect("a request");
        self.send(request).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty());
        self.send(request.expect("a request")).await
    }

    async fn send(&mut self, request: Request<Body>) -> Answer {
        self.sender.ready().await.expect("the connection stands");
        Answer::read(self.sender.send_request(request)).await
    }

    /// Sends the header of a request whose body comes in parts.
    pub(crate) async fn post_in_parts(mut self, path: &str, content_type: &str) -> Parts {
        let (parts, body) = mpsc::channel(8);
        let body = Body::from_stream(body.map(Ok::<Bytes, io::Error>));
        let request = post(path, content_type)
            .header(header::EXPECT, "100-continue")
            .body(body);
        let mut request = request.expect("a request");
        let (told, being_read) = watch::channel(false);
        on_informational(&mut request, move |_| {
            told.send_replace(true);
        });
        self.sender.ready().await.expect("the connection stands");
        let answer = Box::pin(Answer::read(self.sender.send_request(request)));
        Parts {
            body: parts,
            answer: tokio::spawn(answer),
            being_read,
            _connection: self,
        }
    }
}

fn post(path: &str, content_type: &str) -> http::request::Builder {
    let request = Request::post(path).header(header::HOST, "localhost");
    if content_type.is_empty() {
        return request;
    }
    request.header(header::CONTENT_TYPE, content_type)
}

/// A request on its way.
pub(crate) struct Parts {
    body: mpsc::Sender<Bytes>,
    answer: JoinHandle<Answer>,
    being_read: watch::Receiver<bool>,
    _connection: Client,
}

impl Parts {
    pub(crate) async fn send(&mut self, part: &str) {
        self.body
            .send(Bytes::from(part.to_owned()))
            .await
            .expect("the body is open");
    }

    /// Waits until the server asks for the body.
    pub(crate) async fn is_being_read(&mut self) {
        self.being_read
            .wait_for(|told| *told)
            .await
            .expect("the server asks for the body");
    }

    /// The body is complete.
    pub(crate) fn end(&mut self) {
        self.body.close_channel();
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        (&mut self.answer).await.expect("an answer")
    }
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    async fn read(response: impl Future<Output = hyper::Result<http::Response<hyper::body::Incoming>>>) -> Self {
        let (head, body) = response.await.expect("an answer").into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.collect().await.expect("a body").to_bytes(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn review(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}
