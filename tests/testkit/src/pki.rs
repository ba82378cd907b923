//! The keys of a control plane: an authority, the certificate of its API server, and the key of its service accounts.

use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// The authority's certificate, which every kubeconfig names.
pub const CA_FILE: &str = "ca.crt";
/// The certificate of the API server.
pub const SERVER_CERTIFICATE_FILE: &str = "apiserver.crt";
/// Its key.
pub const SERVER_KEY_FILE: &str = "apiserver.key";
/// Signs tokens of service accounts. ECDSA P-256: Kubernetes takes it as it does RSA.
pub const SERVICE_ACCOUNT_KEY_FILE: &str = "service-account.key";
/// Checks tokens of service accounts.
pub const SERVICE_ACCOUNT_PUBLIC_KEY_FILE: &str = "service-account.pub";

/// Writes the five files into `folder`.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path) -> Result<()> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    ca.distinguished_name.push(DnType::CommonName, "testkit");
    let ca_certificate = ca.self_signed(&ca_key)?;

    let server_key = KeyPair::generate()?;
    // 10.0.0.1 is the Service `kubernetes` of the range that the API server is given.
    let mut server =
        CertificateParams::new(["127.0.0.1", "localhost", "kubernetes.default.svc", "10.0.0.1"].map(String::from))?;
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    server.use_authority_key_identifier_extension = true;
    let server_certificate = server.signed_by(&server_key, &Issuer::new(ca, &ca_key))?;
    let service_account_key = KeyPair::generate()?;

    for (name, text) in [
        (CA_FILE, ca_certificate.pem()),
        (SERVER_CERTIFICATE_FILE, server_certificate.pem()),
        (SERVER_KEY_FILE, server_key.serialize_pem()),
        (SERVICE_ACCOUNT_KEY_FILE, service_account_key.serialize_pem()),
        (SERVICE_ACCOUNT_PUBLIC_KEY_FILE, service_account_key.public_key_pem()),
    ] {
        std::fs::write(folder.join(name), text)
            .with_context(|| format!("cannot write {name} into {}", folder.display()))?;
    }
    Ok(())
}
