//! Whether a client that trusts a bundle would take a certificate for a host: the same check that an API server makes.
//! Pure.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::pair::{Certificate, PairFault};
use crate::server::tls;

/// Why a certificate would be refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// The bundle holds nothing that could be trusted.
    #[error("caBundle cannot be used: {0}")]
    Bundle(String),
    /// The host is neither a DNS name nor an IP address.
    #[error("{0:?} is no name that a certificate could be for")]
    Host(String),
    /// There is no certificate.
    #[error("no certificate is served yet")]
    NothingServed,
    /// The certificate does not hold.
    #[error("the served certificate is refused: {0}")]
    Refused(String),
}

impl From<PairFault> for Distrust {
    fn from(fault: PairFault) -> Self {
        Self::Bundle(fault.to_string())
    }
}

/// Checks at `now` that a client that trusts the PEM certificates of `bundle` takes `chain` (the leaf first) for `host`.
pub fn verify(chain: &[CertificateDer<'_>], bundle: &[u8], host: &str, now: Timestamp) -> Result<(), Distrust> {
    let (leaf, intermediates) = chain.split_first().ok_or(Distrust::NothingServed)?;
    let mut roots = RootCertStore::empty();
    for authority in Certificate::parse_all(bundle)? {
        roots
            .add(authority.der)
            .map_err(|error| Distrust::Bundle(error.to_string()))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), tls::provider())
        .build()
        .map_err(|error| Distrust::Bundle(error.to_string()))?;
    let name = ServerName::try_from(host).map_err(|_| Distrust::Host(host.to_owned()))?;
    let since_epoch = std::time::Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
    verifier
        .verify_server_cert(leaf, intermediates, &name, &[], UnixTime::since_unix_epoch(since_epoch))
        .map(|_| ())
        .map_err(|error| Distrust::Refused(error.to_string()))
}
