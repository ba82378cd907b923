//! What every pass over an analysis works with, and what is remembered of each between two passes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::caches::Analyses;
use crate::controller;
use crate::core::analysis::answer::{QueryError, Series};
use crate::core::analysis::run::Run;
use crate::core::analysis::status::Hold;
use crate::metrics_sources::Sources;

/// An answer that is on its way.
type Answer = Pin<Box<dyn Future<Output = Result<Vec<Series>, QueryError>> + Send>>;

/// Asks a metrics source by name for a query, within a time.
#[derive(Clone)]
pub struct AskSources(Arc<dyn Fn(String, String, Duration) -> Answer + Send + Sync>);

impl AskSources {
    /// The configured sources.
    #[must_use]
    pub fn of(sources: Sources) -> Self {
        Self(Arc::new(move |source, query, deadline| {
            let sources = sources.clone();
            Box::pin(async move { sources.query(&source, &query, deadline).await })
        }))
    }

    /// Something else that answers, for tests that run on paused time.
    pub fn other<F>(ask: impl Fn(String, String, Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<Series>, QueryError>> + Send + 'static,
    {
        Self(Arc::new(move |source, query, deadline| {
            Box::pin(ask(source, query, deadline))
        }))
    }

    pub(super) async fn ask(&self, source: &str, query: &str, deadline: Duration) -> Result<Vec<Series>, QueryError> {
        (self.0)(source.to_owned(), query.to_owned(), deadline).await
    }
}

/// What every pass over an analysis works with.
pub struct AnalysisContext {
    /// What passes over pipelines work with: the client, what has been seen of pipelines, the clock.
    pub base: Arc<controller::Context>,
    /// Who is asked for metrics.
    pub sources: AskSources,
    /// Whether Deployments may be targets.
    pub deployment_targets: bool,
    memories: Mutex<HashMap<String, Memory>>,
}

/// What is remembered of an analysis (by uid) between two passes. What must outlast a restart lies in its status.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// What its measurements have come to; the status has it as of the last write. `None`: not looked at yet.
    pub(super) run: Option<Run>,
    /// How it holds a Deployment.
    pub(super) hold: Hold,
    /// The measurement under way, of which an attempt got no answer.
    pub(super) attempt: Option<Attempt>,
    /// When its status was written last.
    pub(super) written_at: Option<Timestamp>,
    /// How many passes in a row could not be finished.
    pub(super) failed_passes: u32,
}

/// A measurement whose attempts so far got no answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    /// When the measurement began.
    pub(super) began: Timestamp,
    /// Attempts so far.
    pub(super) made: u32,
    /// When the next one is due.
    pub(super) next: Timestamp,
    /// Generation of the spec that is measured; another one begins anew.
    pub(super) generation: Option<i64>,
}

impl AnalysisContext {
    /// Nothing is remembered yet.
    #[must_use]
    pub fn new(base: Arc<controller::Context>, sources: AskSources, deployment_targets: bool) -> Self {
        Self {
            base,
            sources,
            deployment_targets,
            memories: Mutex::default(),
        }
    }

    /// All analyses.
    #[must_use]
    pub fn analyses(&self) -> &Analyses {
        &self.base.analyses
    }

    pub(super) fn now(&self) -> Timestamp {
        self.base.clock.now()
    }

    pub(super) fn memory(&self, uid: &str) -> Memory {
        self.lock().get(uid).cloned().unwrap_or_default()
    }

    pub(super) fn remember(&self, uid: &str, memory: Memory) {
        self.lock().insert(uid.to_owned(), memory);
    }

    /// Counts a pass; gives how many in a row could not be finished.
    pub(super) fn count_pass(&self, uid: &str, finished: bool) -> u32 {
        let mut memories = self.lock();
        let memory = memories.entry(uid.to_owned()).or_default();
        memory.failed_passes = if finished {
            0
        } else {
            memory.failed_passes.saturating_add(1)
        };
        memory.failed_passes
    }

    /// Forgets analyses that are gone; all of them when a term begins.
    pub(super) fn forget_gone(&self) {
        let known = self.analyses().uids();
        self.lock().retain(|uid, _| known.contains(uid));
    }

    pub(super) fn forget_all(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
