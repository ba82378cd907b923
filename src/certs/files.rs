//! A certificate that someone else keeps, in a mounted Secret.
//!
//! Polls and compares bytes: a kubelet swaps a symlink, which ends a watch on the files. Must never give up a good pair
//! for a broken one.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::pair::{Certificate, Pair};
use super::run::{Bundle, Deps, Mounted};
use super::warnings::{Reason, Warnings, expires_soon, issuer_of};
use crate::telemetry::labels::CertificateRole;

/// Time between two looks. A kubelet takes up to a minute to bring a changed Secret to the files, so seconds do not
/// matter; certificates are renewed long before they expire.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The bytes of the three files.
#[derive(PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    /// There need not be one.
    authorities: Option<Vec<u8>>,
}

/// What was read and is served.
struct InHand {
    leaf: Certificate,
    authorities: Vec<Certificate>,
}

/// Serves the pair in the folder, and again whenever its files change; publishes `ca.crt` when it is there. Warns of
/// files that cannot be served, and of a certificate that is about to expire.
pub(super) async fn follow(mounted: &Mounted, deps: &Deps, publish: watch::Sender<Bundle>) {
    let mut poll = interval(POLL_INTERVAL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut warnings = Warnings::about("Pod", &mounted.namespace, &mounted.pod, deps);
    let (mut last, mut in_hand, mut refused) = (None, None, None);
    loop {
        poll.tick().await;
        match read(&mounted.folder).await {
            Ok(files) if last.as_ref() == Some(&files) => {}
            Ok(files) => {
                refused = match adopt(&files, deps, &publish) {
                    Ok(adopted) => {
                        in_hand = Some(adopted);
                        None
                    }
                    Err(why) => Some(format!(
                        "the certificate in {} is refused: {why}; keeping the one in hand, if any, and looking again",
                        mounted.folder.display()
                    )),
                };
                last = Some(files);
            }
            Err(why) => {
                refused = Some(format!(
                    "{why}; keeping the certificate in hand, if any, and looking again"
                ));
                last = None;
            }
        }
        warnings.tell(Reason::Refused, refused.clone()).await;
        let now = Timestamp::now();
        let soon = in_hand
            .as_ref()
            .and_then(|InHand { leaf, authorities }| expires_soon(leaf, authorities, now));
        warnings.tell(Reason::Expiring, soon).await;
    }
}

/// Reads the files of `folder`; fails with the file and why.
async fn read(folder: &Path) -> Result<Files, String> {
    let file = async |name: &str| {
        let path = folder.join(name);
        let bytes = tokio::fs::read(&path).await;
        bytes.map_err(|error| (error.kind(), format!("{} cannot be read: {error}", path.display())))
    };
    let authorities = match file("ca.crt").await {
        Ok(bytes) => Some(bytes),
        Err((io::ErrorKind::NotFound, _)) => None,
        Err((_, why)) => return Err(why),
    };
    Ok(Files {
        certificate: file("tls.crt").await.map_err(|(_, why)| why)?,
        key: file("tls.key").await.map_err(|(_, why)| why)?,
        authorities,
    })
}

/// Serves and publishes the files if they are whole; fails with the file and why.
fn adopt(files: &Files, deps: &Deps, publish: &watch::Sender<Bundle>) -> Result<InHand, String> {
    let pair = Pair::parse(&files.certificate, &files.key).map_err(|fault| format!("tls.crt and tls.key: {fault}"))?;
    let authorities = match &files.authorities {
        None => Vec::new(),
        Some(pem) => Certificate::parse_all(pem).map_err(|fault| format!("ca.crt: {fault}"))?,
    };
    deps.serve(&pair);
    if let Some(authority) = issuer_of(pair.certificate(), &authorities) {
        let expiry = authority.not_after.as_second();
        deps.metrics.certificate_expiry(CertificateRole::Ca, expiry);
    }
    let bundle = files.authorities.is_some().then(|| {
        let pem: String = authorities.iter().map(Certificate::to_pem).collect();
        Arc::new(pem.into_bytes())
    });
    publish.send_replace(bundle);
    Ok(InHand {
        leaf: pair.certificate().clone(),
        authorities,
    })
}

#[cfg(test)]
mod tests;
