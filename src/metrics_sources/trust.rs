//! Whom a source's certificate must be signed by, and the client that looks: a new one whenever the bytes of the CA file
//! change.
//!
//! Must never trust more than the file of a source names, nor skip the check.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::Failure;
use crate::server::tls;
use crate::telemetry::labels::SourceOutcome;

/// How long making a connection may take, where the source's time-out is not shorter.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection is kept unused: less than what servers and balancers do (most of them a minute or more), so that
/// hardly a request meets a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A client of one source.
pub(super) type SourceClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The client in hand, and what it trusts.
#[derive(Debug)]
pub(super) struct Trust {
    ca_file: Option<PathBuf>,
    connections: usize,
    in_hand: Mutex<InHand>,
}

#[derive(Debug)]
struct InHand {
    /// Bytes of the CA file; empty without one.
    pem: Vec<u8>,
    client: SourceClient,
}

impl Trust {
    /// Trusts what the file holds; without one what the machine trusts, which is looked up only where it `is_tls`. Keeps
    /// up to `connections` unused connections. Fails with the file, or when there is nothing to trust.
    pub(super) fn new(ca_file: Option<&Path>, is_tls: bool, connections: usize) -> Result<Self, String> {
        let (pem, roots) = match ca_file {
            Some(path) => {
                let pem = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
                let roots = parse(path, &pem)?;
                (pem, roots)
            }
            None if is_tls => (Vec::new(), of_the_machine()?),
            None => (Vec::new(), RootCertStore::empty()),
        };
        let client = client(roots, connections)?;
        Ok(Self {
            ca_file: ca_file.map(Path::to_owned),
            connections,
            in_hand: Mutex::new(InHand { pem, client }),
        })
    }

    /// The client for a request that is about to be sent. Fails with the CA file.
    pub(super) async fn client(&self) -> Result<SourceClient, Failure> {
        let Some(path) = &self.ca_file else {
            return Ok(self.lock().client.clone());
        };
        let pem = tokio::fs::read(path).await.map_err(|error| unreadable(path, &error));
        let current = pem.and_then(|pem| self.trusting(path, pem));
        current.map_err(|words| Failure::new(SourceOutcome::Network, format!("cannot be asked: {words}")))
    }

    /// The client in hand when it trusts just this, else a new one, which starts without connections.
    fn trusting(&self, path: &Path, pem: Vec<u8>) -> Result<SourceClient, String> {
        let mut in_hand = self.lock();
        if in_hand.pem != pem {
            let client = client(parse(path, &pem)?, self.connections)?;
            *in_hand = InHand { pem, client };
            tracing::info!(file = %path.display(), "the CA file of a metrics source has changed and is used");
        }
        Ok(in_hand.client.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InHand> {
        // A panic elsewhere leaves a whole client behind: it is replaced in one step.
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("caFile: {} cannot be read: {error}", path.display())
}

fn parse(path: &Path, pem: &[u8]) -> Result<RootCertStore, String> {
    let broken = |why: String| format!("caFile: {} cannot be used: {why}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| broken(error.to_string()))?;
        roots.add(certificate).map_err(|error| broken(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(broken("it holds no certificate".to_owned()));
    }
    Ok(roots)
}

fn of_the_machine() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let (_, _broken) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "is asked over TLS, and the operator's image trusts no certificate authority: name a caFile".to_owned(),
        );
    }
    Ok(roots)
}

fn client(roots: RootCertStore, connections: usize) -> Result<SourceClient, String> {
    let tls = ClientConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(connections)
        .build(connector))
}
