//! Certificates and keys as they lie in Secrets and files, read once into what is needed of them. Pure.
//!
//! Must never print a key, and never give out a pair whose halves do not match.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;

use crate::server::tls;

/// What is wrong with a certificate or key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairFault {
    /// No PEM block of that kind, or a broken one.
    #[error("no certificate could be read: {0}")]
    CertificatePem(String),
    /// PEM around something else.
    #[error("a certificate is malformed: {0}")]
    Certificate(String),
    /// No key, or a broken one.
    #[error("no private key could be read: {0}")]
    KeyPem(String),
    /// The key is of a kind we cannot use, or another certificate's.
    #[error("the private key cannot be used with the certificate: {0}")]
    Mismatch(String),
}

/// One certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate itself.
    pub der: CertificateDer<'static>,
    /// The first second in which it is valid.
    pub not_before: Timestamp,
    /// The last second in which it is valid.
    pub not_after: Timestamp,
    /// Distinguished name, DER.
    pub subject: Vec<u8>,
    /// Distinguished name of who signed it, DER.
    pub issuer: Vec<u8>,
    /// DNS names and IP addresses that it is for, as text.
    pub hosts: BTreeSet<String>,
}

impl Certificate {
    /// Reads a DER certificate.
    pub fn parse(der: CertificateDer<'static>) -> Result<Self, PairFault> {
        let malformed = |error: &dyn fmt::Display| PairFault::Certificate(error.to_string());
        let (_, x509) = x509_parser::parse_x509_certificate(&der).map_err(|error| malformed(&error))?;
        let time = |seconds| Timestamp::from_second(seconds).map_err(|error| malformed(&error));
        let names = x509.subject_alternative_name().map_err(|error| malformed(&error))?;
        let hosts = names.map(|names| names.value.general_names.iter().filter_map(host).collect());
        Ok(Self {
            not_before: time(x509.validity().not_before.timestamp())?,
            not_after: time(x509.validity().not_after.timestamp())?,
            subject: x509.subject().as_raw().to_vec(),
            issuer: x509.issuer().as_raw().to_vec(),
            hosts: hosts.unwrap_or_default(),
            der,
        })
    }

    /// Reads all certificates of a PEM text, at least one.
    pub fn parse_all(pem: &[u8]) -> Result<Vec<Self>, PairFault> {
        let blocks: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| PairFault::CertificatePem(error.to_string()))?;
        if blocks.is_empty() {
            return Err(PairFault::CertificatePem(
                "it holds no PEM block of a certificate".to_owned(),
            ));
        }
        blocks.into_iter().map(Self::parse).collect()
    }

    /// Whether it was signed under the name of `authority`. The names of our authorities are unique, so this says who
    /// signed; whether the signature holds is for [`super::trust`] to say.
    #[must_use]
    pub fn names_issuer(&self, authority: &Self) -> bool {
        self.issuer == authority.subject
    }

    /// The certificate as PEM text.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode_config(
            &pem::Pem::new("CERTIFICATE", self.der.to_vec()),
            pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF),
        )
    }
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// A certificate, those between it and its authority, and its private key.
#[derive(Clone)]
pub struct Pair {
    certificate: Certificate,
    key_pem: Vec<u8>,
    certified: Arc<CertifiedKey>,
}

impl Pair {
    /// Reads a pair from two PEM texts. Fails unless the key belongs to the first certificate.
    pub fn parse(certificates: &[u8], key: &[u8]) -> Result<Self, PairFault> {
        let chain = Certificate::parse_all(certificates)?;
        let private = PrivateKeyDer::from_pem_slice(key).map_err(|error| PairFault::KeyPem(error.to_string()))?;
        let ders = chain.iter().map(|certificate| certificate.der.clone()).collect();
        let certified = CertifiedKey::from_der(ders, private, &tls::provider())
            .map_err(|error| PairFault::Mismatch(error.to_string()))?;
        let first = chain.into_iter().next();
        Ok(Self {
            certificate: first.ok_or_else(|| PairFault::CertificatePem("it is empty".to_owned()))?,
            key_pem: key.to_vec(),
            certified: Arc::new(certified),
        })
    }

    /// The certificate that the key belongs to.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The key, for the Secret and for signing alone.
    pub(super) fn key_pem(&self) -> &[u8] {
        &self.key_pem
    }

    /// The chain and key as TLS serves them.
    #[must_use]
    pub fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }

    /// The whole chain as PEM text.
    #[must_use]
    pub fn chain_pem(&self) -> String {
        let parsed = self.certified.cert.iter().cloned().map(Certificate::parse);
        parsed.flatten().map(|certificate| certificate.to_pem()).collect()
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.certified.cert == other.certified.cert && self.key_pem == other.key_pem
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}
