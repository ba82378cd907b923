//! Terms of leadership: passes run while this replica leads, and not a moment longer. Must never let passes go on into
//! another replica's term.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::analyses::{self, AnalysisContext};
use crate::controller;

/// How long the passes in hand may take once the operator stops; then they are abandoned, which any pass can be.
const PASSES_END_WITHIN: Duration = Duration::from_secs(5);

/// Reconciles while `leads`, until `stop`; `passes` says whether passes are under way.
pub(super) async fn terms(
    context: Arc<AnalysisContext>,
    mut leads: watch::Receiver<bool>,
    passes: watch::Sender<bool>,
    stop: CancellationToken,
) {
    loop {
        // The sender is gone only when the operator is.
        let leads_now = async { leads.wait_for(|leads| *leads).await.is_ok() };
        if stop.run_until_cancelled(leads_now).await != Some(true) {
            return;
        }
        passes.send_replace(true);
        let end_of_term = CancellationToken::new();
        let mut term = Box::pin(lead(&context, &end_of_term));
        tokio::select! {
            () = &mut term => {}
            () = stop.cancelled() => {
                end_of_term.cancel();
                if timeout(PASSES_END_WITHIN, &mut term).await.is_err() {
                    tracing::warn!("passes still ran after {PASSES_END_WITHIN:?} and are abandoned");
                }
            }
            // Dropped where they stand: what they have sent carries preconditions, and nothing more is sent.
            () = lost(&mut leads) => {}
        }
        drop(term);
        context.base.triggers.end();
        context.base.metrics.forget_pipelines();
        context.analyses().triggers.end();
        context.base.metrics.analyses.forget_all();
        passes.send_replace(false);
    }
}

/// Passes over pipelines and over analyses.
async fn lead(context: &Arc<AnalysisContext>, end_of_term: &CancellationToken) {
    tokio::join!(
        controller::lead(Arc::clone(&context.base), end_of_term.clone()),
        analyses::lead(Arc::clone(context), end_of_term.clone())
    );
}

async fn lost(leads: &mut watch::Receiver<bool>) {
    // An error: the election has ended, and with it the term.
    let _ended = leads.wait_for(|leads| !*leads).await.is_err();
}

/// Ends when a term is over and passes are still under way after `limit`.
pub(super) async fn cannot_stop(mut leads: watch::Receiver<bool>, mut passes: watch::Receiver<bool>, limit: Duration) {
    loop {
        let led = async {
            leads.wait_for(|leads| *leads).await.ok()?;
            leads.wait_for(|leads| !*leads).await.ok()?;
            Some(())
        };
        if led.await.is_none() {
            return std::future::pending().await;
        }
        if timeout(limit, passes.wait_for(|under_way| !*under_way)).await.is_err() {
            return;
        }
    }
}
