//! Which pipelines are to be looked at: a queue in which each waits at most once. Must never lose a pipeline that was
//! told while somebody leads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::Stream;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};

use crate::core::collision::PipelineId;
use crate::telemetry::Metrics;

/// The queue. Clones are the same queue.
#[derive(Clone, Debug)]
pub struct Triggers {
    inner: Arc<Mutex<Inner>>,
    metrics: Metrics,
}

#[derive(Debug, Default)]
struct Inner {
    /// Told, and not yet begun. Bounds the channel: a pipeline is in it once.
    waiting: HashSet<PipelineId>,
    /// Nobody reads while nobody leads.
    sender: Option<UnboundedSender<PipelineId>>,
}

impl Triggers {
    /// An empty queue that nobody reads.
    #[must_use]
    pub fn new(metrics: Metrics) -> Self {
        Self {
            inner: Arc::default(),
            metrics,
        }
    }

    /// That pipeline is to be looked at. Does nothing while nobody reads: who begins to read looks at all of them.
    pub fn tell(&self, pipeline: PipelineId) {
        let mut inner = self.lock();
        let Some(sender) = inner.sender.clone() else {
            return;
        };
        if inner.waiting.insert(pipeline.clone()) {
            // The reader is gone: its term has ended, and the next begins with all pipelines.
            let _ended = sender.unbounded_send(pipeline);
        }
        self.metrics.queue_depth(inner.waiting.len());
    }

    /// Begins to read; an earlier reader gets no more. The stream ends when [`Triggers::end`] is called.
    pub fn read(&self) -> impl Stream<Item = PipelineId> + use<> {
        let (sender, receiver): (_, UnboundedReceiver<PipelineId>) = unbounded();
        let mut inner = self.lock();
        inner.waiting.clear();
        inner.sender = Some(sender);
        receiver
    }

    /// Ends the stream of the reader.
    pub fn end(&self) {
        let mut inner = self.lock();
        inner.waiting.clear();
        inner.sender = None;
        self.metrics.queue_depth(0);
    }

    /// The pipeline is being looked at: what is told from now on is news.
    pub fn begun(&self, pipeline: &PipelineId) {
        let mut inner = self.lock();
        inner.waiting.remove(pipeline);
        self.metrics.queue_depth(inner.waiting.len());
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;

    fn pipeline(name: &str) -> PipelineId {
        PipelineId {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
        }
    }

    fn triggers() -> Triggers {
        Triggers::new(Metrics::new("0", "test", false))
    }

    #[test]
    fn a_pipeline_waits_once_until_it_is_begun() {
        let triggers = triggers();
        let mut read = triggers.read();
        triggers.tell(pipeline("a"));
        triggers.tell(pipeline("a"));
        assert_eq!(read.next().now_or_never(), Some(Some(pipeline("a"))));
        triggers.tell(pipeline("a"));
        assert_eq!(read.next().now_or_never(), None, "taken, and not begun yet");
        triggers.begun(&pipeline("a"));
        triggers.tell(pipeline("a"));
        assert_eq!(read.next().now_or_never(), Some(Some(pipeline("a"))));
    }

    #[test]
    fn what_is_told_while_nobody_reads_is_dropped_and_a_new_reader_begins_empty() {
        let triggers = triggers();
        triggers.tell(pipeline("a"));
        let mut first = triggers.read();
        assert_eq!(first.next().now_or_never(), None);
        triggers.tell(pipeline("b"));
        triggers.end();
        assert_eq!(first.next().now_or_never(), Some(Some(pipeline("b"))));
        assert_eq!(first.next().now_or_never(), Some(None));
        let mut second = triggers.read();
        triggers.tell(pipeline("b"));
        assert_eq!(second.next().now_or_never(), Some(Some(pipeline("b"))));
    }
}
