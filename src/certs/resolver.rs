//! The certificate that is served: one value, swapped as a whole, so that a handshake sees the old or the new pair and
//! connections that stand are not touched. Must never hold a pair whose halves do not match.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// What the TLS server asks for its certificate. Without one, every handshake is refused.
#[derive(Debug, Default)]
pub struct ServingCertificate {
    current: ArcSwapOption<CertifiedKey>,
}

impl ServingCertificate {
    /// Serves `pair` from the next handshake on.
    pub fn serve(&self, pair: Arc<CertifiedKey>) {
        self.current.store(Some(pair));
    }

    /// What is served.
    #[must_use]
    pub fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.current.load_full()
    }
}

impl ResolvesServerCert for ServingCertificate {
    /// The same for every name: an API server that calls by IP address sends none.
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}
