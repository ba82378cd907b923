//! What people order of the spec's revision, and whether it still counts. Must never look at a Pod.

use jiff::Timestamp;

use super::Judge;
use crate::core::names::Revision;

impl Judge<'_> {
    /// Whether a person orders the spec's revision back. An order has no time and counts for the attempt in which it is
    /// given: one that was there when the revision became the spec's was left behind by an earlier attempt. After a lost
    /// status nobody knows which it is; it counts then, unless there is one to resume too.
    pub(super) fn is_aborted_now(&self) -> bool {
        let left_behind = match self.before.update_revision {
            Some(_) => self.is_new,
            None => self.resumed().is_some(),
        };
        let answered = self.before.answered_abort.as_ref() == Some(&self.update);
        self.abort().is_some() && !left_behind && !answered
    }

    /// The spec's revision, when an order to abort names it. Such an order has been looked at once this pass is over.
    pub(super) fn abort(&self) -> Option<Revision> {
        self.orders.abort.clone().filter(|revision| *revision == self.update)
    }

    /// When a person had the spec's revision resumed; an order for the future waits.
    pub(super) fn resumed(&self) -> Option<Timestamp> {
        let (revision, time) = self.orders.resume.as_ref()?;
        (*revision == self.update && *time <= self.now).then_some(*time)
    }
}
