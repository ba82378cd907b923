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

#[cfg(test)]
mod tests {
    use super::super::facts::HoldBy;
    use super::super::fixtures::at;
    use super::*;

    fn hold(by: HoldBy, second: i64) -> Hold {
        Hold {
            by,
            since: at(second),
            message: String::new(),
        }
    }

    fn is_past(clock: Clock, second: i64) -> bool {
        clock.is_past(SignedDuration::from_secs(600), at(second))
    }

    #[test]
    fn the_deadline_passes_so_long_after_the_last_progress() {
        let clock = |now| Clock::new(at(100), &[], &[], at(now));
        assert!(!is_past(clock(699), 699));
        assert!(is_past(clock(700), 700));
    }

    #[test]
    fn while_held_the_clock_stands_still_and_what_had_passed_before_stays_past() {
        let held = |since, now| Clock::new(at(100), &[], &[hold(HoldBy::Paused, since)], at(now));
        assert!(!is_past(held(200, 9000), 9000));
        assert!(is_past(held(750, 9000), 9000));
    }

    #[test]
    fn the_time_of_a_hold_that_ended_is_added() {
        let clock = Clock::new(at(100), &[hold(HoldBy::Paused, 200)], &[], at(1200));
        assert_eq!(clock.last_progress, at(1100));
    }

    #[test]
    fn progress_within_a_hold_counts_from_then() {
        let clock = Clock::new(at(500), &[hold(HoldBy::Paused, 200)], &[], at(1200));
        assert_eq!(clock.last_progress, at(1200));
    }

    #[test]
    fn of_two_holds_the_time_of_the_earlier_one_is_added_when_it_ends_first() {
        let before = [hold(HoldBy::Paused, 200), hold(HoldBy::Suspended, 300)];
        let clock = Clock::new(at(100), &before, &[hold(HoldBy::Suspended, 300)], at(400));
        assert_eq!((clock.last_progress, clock.stopped_since), (at(200), Some(at(300))));
    }

    #[test]
    fn a_gate_that_waits_for_its_canary_stops_no_clock() {
        let clock = Clock::new(at(100), &[], &[hold(HoldBy::GateCanary, 200)], at(700));
        assert!(is_past(clock, 700));
    }
}
