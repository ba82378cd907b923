//! The tasks of this module together.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::due::Policy;
use super::pair::Pair;
use super::resolver::ServingCertificate;
use super::{ca_bundle, files, secret};
use crate::server::Readiness;
use crate::telemetry::Metrics;
use crate::telemetry::labels::CertificateRole;

/// What depends on flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the certificate comes from.
    pub source: Source,
    /// Name of our two webhook configurations.
    pub webhook_config_name: String,
}

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The operator makes it.
    SelfMade(SelfMade),
    /// Someone else keeps it, in mounted files.
    Files(Mounted),
}

/// Where the mounted files are, and who is told of what is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Holds `tls.crt`, `tls.key` and perhaps `ca.crt`.
    pub folder: PathBuf,
    /// The operator's own namespace, in which its Events are.
    pub namespace: String,
    /// Name of the operator's Pod, which the Events are about: the name of the mounted Secret is not known to it.
    pub pod: String,
}

/// How the operator makes its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfMade {
    /// The operator's own namespace, in which the Secret is.
    pub namespace: String,
    /// Lifetimes and hosts.
    pub policy: Policy,
}

/// What the tasks work with.
#[derive(Clone)]
pub struct Deps {
    /// Client of the API server, for reading, and for the very first Secret, which any replica may make.
    pub client: Client,
    /// Client whose writes pass only while this replica leads for certain.
    pub as_leader: Client,
    /// What the TLS server asks for its certificate.
    pub served: Arc<ServingCertificate>,
    /// Told whether the served certificate is trusted ([`crate::server::Need::Certificate`]).
    pub readiness: Readiness,
    /// Told when certificates expire.
    pub metrics: Metrics,
    /// Whether this replica leads: only then does it renew and write `caBundle`.
    pub is_leader: watch::Receiver<bool>,
}

impl Deps {
    /// Serves `leaf` from the next handshake on, unless it is served already.
    pub(super) fn serve(&self, leaf: &Pair) {
        let certified = leaf.certified();
        let current = self.served.current();
        if current.is_some_and(|current| current.cert == certified.cert) {
            return;
        }
        self.served.serve(certified);
        let (from, until) = (leaf.certificate().not_before, leaf.certificate().not_after);
        self.metrics
            .certificate_expiry(CertificateRole::Leaf, until.as_second());
        tracing::info!("serving a certificate that is valid from {from} to {until}");
        if Timestamp::now() < from {
            tracing::warn!(
                "that is not valid yet: this machine's clock is behind, or that of the machine that made it was ahead; \
                 nobody accepts it until {from}"
            );
        }
    }
}

/// PEM certificates that clients have to trust; `None`: not known, or someone else's to write.
pub(super) type Bundle = Option<Arc<Vec<u8>>>;

/// Keeps the served certificate fresh and trusted until `cancel`. Faults are logged and tried again; what can be served
/// meanwhile is served.
pub async fn run(settings: Settings, deps: Deps, cancel: CancellationToken) {
    let (publish, bundle) = watch::channel(None);
    let (tell_live, live) = watch::channel(ca_bundle::Live::new());
    let source = async {
        match &settings.source {
            Source::SelfMade(self_made) => secret::keep(self_made, &deps, publish, live).await,
            Source::Files(mounted) => files::follow(mounted, &deps, publish).await,
        }
    };
    let trusted = ca_bundle::uphold(&settings.webhook_config_name, &deps, bundle, tell_live);
    // A write that is abandoned half-way is one that may or may not have happened: the next look tells.
    cancel
        .run_until_cancelled(Box::pin(async { tokio::join!(source, trusted) }))
        .await;
}

/// The next change of a watched value; never, when nobody can change it any more.
pub(super) async fn changed<T>(value: &mut watch::Receiver<T>) {
    if value.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Says a fault once, and again only when it is another one.
#[derive(Debug, Default)]
pub(super) struct SaidOnce(Option<String>);

impl SaidOnce {
    /// Logs `fault` unless it was the last one logged.
    pub(super) fn warn(&mut self, fault: String) {
        if self.0.as_ref() != Some(&fault) {
            tracing::warn!("{fault}");
            self.0 = Some(fault);
        }
    }

    /// It works again: the next fault is news.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
