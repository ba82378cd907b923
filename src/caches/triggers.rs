//! Which pipelines are to be looked at: a queue in which each waits at most once. Must never lose a pipeline that was
//! told while somebody leads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{Stream, StreamExt as _};

use crate::core::collision::PipelineId;
use crate::telemetry::Metrics;

/// The queue. Clones are the same queue.
#[derive(Clone, Debug)]
pub struct Triggers {
    inner: Arc<Mutex<Inner>>,
    /// `None`: its depth is shown nowhere.
    metrics: Option<Metrics>,
}

#[derive(Debug, Default)]
struct Inner {
    /// In the channel. Bounds it: a pipeline is in it once. What the reader has taken is out of it, so that whatever is
    /// told from then on comes through.
    in_channel: HashSet<PipelineId>,
    /// Told, and not begun: what `queue_depth` counts.
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
            metrics: Some(metrics),
        }
    }

    /// An empty queue that nobody reads, of which no metric tells.
    #[must_use]
    pub fn uncounted() -> Self {
        Self {
            inner: Arc::default(),
            metrics: None,
        }
    }

    /// That pipeline is to be looked at. Does nothing while nobody reads: who begins to read looks at all of them.
    pub fn tell(&self, pipeline: PipelineId) {
        let mut inner = self.lock();
        let Some(sender) = inner.sender.clone() else {
            return;
        };
        inner.waiting.insert(pipeline.clone());
        if inner.in_channel.insert(pipeline.clone()) {
            // The reader is gone: its term has ended, and the next begins with all pipelines.
            let _ended = sender.unbounded_send(pipeline);
        }
        self.show(inner.waiting.len());
    }

    /// Begins to read; an earlier reader gets no more. The stream ends when [`Triggers::end`] is called.
    pub fn read(&self) -> impl Stream<Item = PipelineId> + use<> {
        let (sender, receiver): (_, UnboundedReceiver<PipelineId>) = unbounded();
        let mut inner = self.lock();
        *inner = Inner::default();
        inner.sender = Some(sender);
        drop(inner);
        let queue = self.clone();
        receiver.inspect(move |pipeline| {
            queue.lock().in_channel.remove(pipeline);
        })
    }

    /// Ends the stream of the reader.
    pub fn end(&self) {
        *self.lock() = Inner::default();
        self.show(0);
    }

    /// The pipeline is being looked at, or is gone.
    pub fn begun(&self, pipeline: &PipelineId) {
        let mut inner = self.lock();
        inner.waiting.remove(pipeline);
        self.show(inner.waiting.len());
    }

    fn show(&self, depth: usize) {
        if let Some(metrics) = &self.metrics {
            metrics.queue_depth(depth);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

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
    fn a_pipeline_waits_once_until_it_is_taken() {
        let triggers = triggers();
        let mut read = triggers.read();
        triggers.tell(pipeline("a"));
        triggers.tell(pipeline("a"));
        assert_eq!(read.next().now_or_never(), Some(Some(pipeline("a"))));
        assert_eq!(read.next().now_or_never(), None);
    }

    #[test]
    fn what_is_told_after_a_pipeline_was_taken_comes_through_even_if_nobody_began_with_it() {
        let triggers = triggers();
        let mut read = triggers.read();
        triggers.tell(pipeline("a"));
        assert_eq!(read.next().now_or_never(), Some(Some(pipeline("a"))));
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
