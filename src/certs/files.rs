//! A certificate that someone else keeps, in a mounted Secret.
//!
//! Polls and compares bytes: a kubelet swaps a symlink, which ends a watch on the files. Must never give up a good pair
//! for a broken one.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::pair::{Certificate, Pair};
use super::run::{Bundle, Deps, SaidOnce};

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

/// Serves the pair in `folder`, and again whenever its files change; publishes `ca.crt` when it is there.
pub(super) async fn follow(folder: &Path, deps: &Deps, publish: watch::Sender<Bundle>) {
    let mut poll = interval(POLL_INTERVAL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut fault) = (None, SaidOnce::default());
    loop {
        poll.tick().await;
        let files = match read(folder).await {
            Ok(files) => files,
            Err(why) => {
                fault.warn(format!(
                    "{why}; keeping the certificate in hand, if any, and looking again"
                ));
                continue;
            }
        };
        if last.as_ref() == Some(&files) {
            continue;
        }
        match adopt(&files, deps, &publish) {
            Ok(()) => fault.clear(),
            Err(why) => fault.warn(format!(
                "the certificate in {} is refused: {why}; keeping the one in hand, if any, and looking again",
                folder.display()
            )),
        }
        last = Some(files);
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
fn adopt(files: &Files, deps: &Deps, publish: &watch::Sender<Bundle>) -> Result<(), String> {
    let pair = Pair::parse(&files.certificate, &files.key).map_err(|fault| format!("tls.crt and tls.key: {fault}"))?;
    let bundle = match &files.authorities {
        None => None,
        Some(pem) => {
            let authorities = Certificate::parse_all(pem).map_err(|fault| format!("ca.crt: {fault}"))?;
            let pem: String = authorities.iter().map(Certificate::to_pem).collect();
            Some(Arc::new(pem.into_bytes()))
        }
    };
    deps.serve(&pair);
    publish.send_replace(bundle);
    Ok(())
}

#[cfg(test)]
mod tests;
