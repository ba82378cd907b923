//! What runs side by side, and the order in which it ends: admission first, for it must refuse nobody; then the passes;
//! then the lease, which the next leader waits for; then what all of them read. Must never give up the lease while a
//! pass runs.

use std::future::Future;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A part that runs by itself, and what ends it.
pub(super) struct Task {
    stop: CancellationToken,
    handle: JoinHandle<()>,
}

impl Task {
    /// Starts what `make` makes; it is to end when its token is cancelled.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(make: impl FnOnce(CancellationToken) -> F) -> Self {
        let stop = CancellationToken::new();
        Self {
            handle: tokio::spawn(make(stop.clone())),
            stop,
        }
    }

    /// Ends it, and waits until it has.
    pub(super) async fn end(self) {
        self.stop.cancel();
        if let Err(error) = self.handle.await {
            tracing::error!(%error, "a part of the operator ended by a fault of its own");
        }
    }
}

/// Admission: its server and its certificate.
pub(super) struct Admission {
    pub(super) server: Task,
    pub(super) certificates: Task,
}

/// All parts that need the API server.
pub(super) struct Parts {
    /// Whether this replica leads.
    pub(super) leads: watch::Receiver<bool>,
    /// Whether passes are under way.
    pub(super) passes: watch::Receiver<bool>,
    pub(super) election: Task,
    pub(super) watches: Vec<Task>,
    /// `None` without a controller.
    pub(super) terms: Option<Task>,
    /// `None` without a webhook.
    pub(super) admission: Option<Admission>,
}

impl Parts {
    /// Ends them in order.
    pub(super) async fn end(self) {
        if let Some(admission) = self.admission {
            // Serves on for the shutdown delay, then to the end of each request.
            admission.server.end().await;
            admission.certificates.end().await;
        }
        if let Some(terms) = self.terms {
            terms.end().await;
        }
        self.election.end().await;
        for watch in self.watches {
            watch.end().await;
        }
    }
}
