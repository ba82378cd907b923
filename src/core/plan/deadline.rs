//! The clock of a rollout: when it last made progress, and whether that is too long ago.
//!
//! The clock stands still while nothing can move: paused, no Pod wanted, or only an analysis awaited. What it stood still
//! for is added to the time of the last progress, so nothing but that one time is remembered. Must never read a clock.

use jiff::{SignedDuration, Timestamp};

use crate::core::settings::later;

use super::facts::Hold;

/// The time of the last progress as it counts now, and since when the clock stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// The last progress, moved by what the clock stood still for since.
    pub(super) last_progress: Timestamp,
    /// Since when it stands still; `None` while it runs.
    pub(super) stopped_since: Option<Timestamp>,
}

impl Clock {
    /// `before` and `holds` are what holds the rollout as an earlier pass saw it and as this one does.
    pub(super) fn new(last_progress: Timestamp, before: &[Hold], holds: &[Hold], now: Timestamp) -> Self {
        let was = stopped_since(before);
        let is = stopped_since(holds);
        // What ended: from when it stood still, until now or until the hold began that goes on.
        let stood = was.map_or(SignedDuration::ZERO, |was| {
            is.unwrap_or(now).duration_since(was.max(last_progress))
        });
        Self {
            last_progress: later(last_progress, stood.max(SignedDuration::ZERO)),
            stopped_since: is,
        }
    }

    /// When the deadline passes, if the clock runs until then.
    pub(super) fn deadline(&self, allowed: SignedDuration) -> Timestamp {
        later(self.last_progress, allowed)
    }

    /// Whether the deadline has passed.
    pub(super) fn is_past(&self, allowed: SignedDuration, now: Timestamp) -> bool {
        self.stopped_since.unwrap_or(now) >= self.deadline(allowed)
    }
}

fn stopped_since(holds: &[Hold]) -> Option<Timestamp> {
    holds
        .iter()
        .filter(|hold| hold.by.stops_the_clock())
        .map(|hold| hold.since)
        .min()
}
