//! Stands before two replicas in place of the balancer, and sends each review to one of them by the name of its object:
//! so that of two creates at one moment each is judged by another replica. A balancer spreads connections, and an API
//! server keeps few.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use streaming_operator::certs::ServingCertificate;
use streaming_operator::certs::authority::{new_authority, new_leaf};
use streaming_operator::certs::contents::Contents;
use streaming_operator::certs::pair::Pair;
use streaming_operator::server::tls;
use testkit::workdir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A certificate that the test has made, as files that replicas and router serve alike.
pub(crate) struct Mounted {
    pub(crate) folder: PathBuf,
    leaf: Pair,
    authority: Pair,
    host: String,
}

impl Mounted {
    /// For this host, for a month.
    pub(crate) fn new(host: &str) -> Self {
        let (now, life) = (Timestamp::now(), SignedDuration::from_hours(30 * 24));
        let authority = new_authority(now, life).unwrap();
        let leaf = new_leaf(&authority, &BTreeSet::from([host.to_owned()]), now, life).unwrap();
        let contents = Contents {
            signing: Some(authority.clone()),
            leaf: Some(leaf.clone()),
            ..Contents::default()
        };
        let folder = workdir::workdir("tls").unwrap();
        let data = contents.to_data();
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            std::fs::write(Path::new(&folder).join(name), &data[name].0).unwrap();
        }
        Self {
            folder,
            leaf,
            authority,
            host: host.to_owned(),
        }
    }
}

/// Which of two replicas judges the object of this name.
type Choice = fn(&str) -> usize;

/// The router; ends when dropped.
pub(crate) struct Router {
    port: u16,
    _accepts: JoinSet<()>,
}

struct Replicas {
    mounted: Mounted,
    ports: [u16; 2],
    choice: Choice,
    /// To each replica one connection, which is kept.
    connections: [Mutex<Option<SendRequest<Body>>>; 2],
}

impl Router {
    /// Before the replicas on these ports, which serve the same certificate.
    pub(crate) async fn start(mounted: Mounted, ports: [u16; 2], choice: Choice) -> Self {
        let served = Arc::new(ServingCertificate::default());
        served.serve(mounted.leaf.certified());
        let acceptor = TlsAcceptor::from(Arc::new(tls::server_config(served).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let replicas = Arc::new(Replicas {
            mounted,
            ports,
            choice,
            connections: [Mutex::new(None), Mutex::new(None)],
        });
        let mut accepts = JoinSet::new();
        accepts.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(connection(stream, acceptor.clone(), Arc::clone(&replicas)));
                while connections.try_join_next().is_some() {}
            }
        });
        Self {
            port,
            _accepts: accepts,
        }
    }

    /// For the webhook configurations.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, replicas: Arc<Replicas>) {
    // An API server that does not trust the certificate yet.
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request| {
        let replicas = Arc::clone(&replicas);
        async move { replicas.answer(request).await }
    });
    // Either side may hang up at any time.
    let _ended = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Replicas {
    async fn answer(&self, request: Request<Incoming>) -> anyhow::Result<Response<Incoming>> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await?.to_bytes();
        let review: Value = serde_json::from_slice(&body)?;
        let index = (self.choice)(review["request"]["name"].as_str().unwrap_or_default());
        let mut kept = self.connections[index].lock().await;
        let mut sender = match kept.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => self.connect(self.ports[index]).await?,
        };
        sender.ready().await?;
        let answer = sender.send_request(self.request(&path, body)?).await?;
        *kept = Some(sender);
        Ok(answer)
    }

    fn request(&self, path: &str, body: Bytes) -> anyhow::Result<Request<Body>> {
        let request = Request::post(path)
            .header(header::HOST, &self.mounted.host)
            .header(header::CONTENT_TYPE, "application/json");
        Ok(request.body(Body::from(body))?)
    }

    async fn connect(&self, port: u16) -> anyhow::Result<SendRequest<Body>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.mounted.authority.certificate().der.clone())?;
        let config = ClientConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let name = ServerName::try_from(self.mounted.host.clone())?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}
