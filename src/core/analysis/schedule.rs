//! When an analysis measures: each measurement at its interval, and the attempts of one measurement between.
//!
//! The two are different things. A measurement comes whether or not anything changed; an attempt follows one that got no
//! answer, ever later and never into the next measurement. Must never draw a random number: that is an argument.

use jiff::{SignedDuration, Timestamp};

use crate::core::settings::later;

/// The wait after the first attempt that got no answer, before jitter.
const BACKOFF_BASE: SignedDuration = SignedDuration::from_secs(1);
/// Most attempts of a measurement: with a long interval an outage is told after a quarter of a minute, not after hours.
const ATTEMPTS_MAX: u32 = 5;

/// When the first measurement after `last` is due, or the first of all, which is due `delay` after the first Pod became
/// available. One that is overdue is due now, once.
#[must_use]
pub fn due(started: Timestamp, delay: SignedDuration, last: Option<Timestamp>, interval: SignedDuration) -> Timestamp {
    let first = later(started, delay);
    last.map_or(first, |last| first.max(later(last, interval)))
}

/// When the attempt after the `attempts`-th of a measurement comes that began at `began`; `None` when there is none: it has
/// had as many as it may, or the next measurement is due before.
///
/// The waits are 1, 2, 4 and so on seconds, at most half of `interval`, each shortened by up to a fifth by `random` (0 to
/// 1), so that many analyses do not come back to a source together.
#[must_use]
pub fn next_attempt(
    began: Timestamp,
    attempts: u32,
    interval: SignedDuration,
    random: f64,
    now: Timestamp,
) -> Option<Timestamp> {
    if attempts >= ATTEMPTS_MAX {
        return None;
    }
    let doublings = attempts.saturating_sub(1).min(16);
    let wait = BACKOFF_BASE.checked_mul(1 << doublings).unwrap_or(interval);
    let wait = wait.min(interval / 2);
    let share = 1.0 - 0.2 * random.clamp(0.0, 1.0);
    let wait = SignedDuration::try_from_secs_f64(wait.as_secs_f64() * share).unwrap_or(wait);
    let next = later(now, wait);
    (next < later(began, interval)).then_some(next)
}

/// How long the attempt that begins at `now` may take: up to half of `interval`, so that a slow source does not take the
/// place of the next measurement.
#[must_use]
pub fn deadline(interval: SignedDuration) -> SignedDuration {
    (interval / 2).min(SignedDuration::from_secs(30))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn secs(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn the_first_measurement_waits_for_the_initial_delay_and_each_other_for_the_interval() {
        assert_eq!(due(at(100), secs(0), None, secs(30)), at(100));
        assert_eq!(due(at(100), secs(60), None, secs(30)), at(160));
        assert_eq!(due(at(100), secs(60), Some(at(160)), secs(30)), at(190));
        assert_eq!(due(at(100), secs(0), Some(at(50)), secs(30)), at(100));
    }

    #[test]
    fn attempts_follow_ever_later_and_never_into_the_next_measurement() {
        let mut now = at(0);
        let mut times = Vec::new();
        for attempts in 1..10 {
            let Some(next) = next_attempt(at(0), attempts, secs(30), 0.0, now) else {
                break;
            };
            times.push(next.as_second());
            now = next;
        }
        assert_eq!(times, [1, 3, 7, 15]);
    }

    #[test]
    fn with_a_short_interval_the_wait_is_at_most_half_of_it() {
        let next = |attempts, now: f64| {
            let now = later(at(0), SignedDuration::from_secs_f64(now));
            next_attempt(at(0), attempts, secs(5), 0.0, now).map(|next| next.duration_since(at(0)).as_secs_f64())
        };
        assert_eq!(next(1, 0.0), Some(1.0));
        assert_eq!(next(2, 1.0), Some(3.0));
        assert_eq!(next(3, 2.0), Some(4.5));
        assert_eq!(next(3, 3.0), None);
    }

    #[test]
    fn with_a_long_interval_an_outage_is_told_after_five_attempts() {
        assert!(next_attempt(at(0), 4, secs(86_400), 0.0, at(7)).is_some());
        assert_eq!(next_attempt(at(0), 5, secs(86_400), 0.0, at(15)), None);
    }

    #[test]
    fn jitter_shortens_a_wait_by_up_to_a_fifth() {
        let wait = |random| {
            let next = next_attempt(at(0), 3, secs(60), random, at(0)).expect("another attempt");
            next.duration_since(at(0)).as_secs_f64()
        };
        assert!((wait(0.0) - 4.0).abs() < 1e-9);
        assert!((wait(0.5) - 3.6).abs() < 1e-9);
        assert!((wait(1.0) - 3.2).abs() < 1e-9);
    }

    #[test]
    fn an_attempt_takes_at_most_half_the_interval_and_never_more_than_30_seconds() {
        assert_eq!(deadline(secs(5)), SignedDuration::from_millis(2500));
        assert_eq!(deadline(secs(30)), secs(15));
        assert_eq!(deadline(secs(3600)), secs(30));
    }
}
