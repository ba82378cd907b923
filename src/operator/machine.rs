//! What the operator takes of the machine it runs on: ports, open files, a name. Must never speak to the API server.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::net::TcpListener;

use super::{Ending, NAME, WebhookSettings};
use crate::server::{Limits, open_files};

/// What bounds the webhook's connections: with a low limit of open files, fewer than there should be.
pub(super) fn limits(webhook: &WebhookSettings) -> Result<Limits, Ending> {
    let wanted = Limits::webhook(webhook.shutdown_delay);
    let files = open_files::raise_limit();
    let files =
        files.map_err(|error| Ending::Unusable(format!("the limit of open files cannot be raised: {error}")))?;
    let limits = wanted
        .within(files)
        .map_err(|too_few| Ending::Unusable(too_few.to_string()))?;
    if limits.connections < wanted.connections {
        tracing::warn!(
            connections = limits.connections,
            wanted = wanted.connections,
            "the hard limit of open files (ulimit -Hn) leaves admission fewer connections than it should hold; raise it"
        );
    }
    Ok(limits)
}

/// Listens at an address that a flag says.
pub(super) async fn bind(flag: &str, addr: SocketAddr) -> Result<TcpListener, Ending> {
    let listener = TcpListener::bind(addr).await;
    listener.map_err(|error| Ending::Unusable(format!("{flag} {addr} cannot be listened to: {error}")))
}

/// Unique among replicas and never used again: the name of the Pod (a container's host name), and which process of it.
pub(super) fn identity() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}_{}_{}", hostname(), std::process::id(), since_epoch.as_nanos())
}

/// The host name; in a container the name of its Pod.
pub(super) fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() {
        NAME.to_owned()
    } else {
        name.to_owned()
    }
}
