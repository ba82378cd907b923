//! The TLS side of the webhook's server.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::ResolvesServerCert;

/// The one cryptography that this program uses. Never the process default: which that is depends on what other crates
/// switch on.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// How the webhook speaks TLS: HTTP/1.1 only (an API server that calls a loopback address would else take HTTP/2, and
/// no other would), and no session tickets, which API servers do not use.
///
/// Fails only when the provider supports no version of TLS.
pub fn server_config(certificate: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    Ok(config)
}
