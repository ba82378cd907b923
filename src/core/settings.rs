//! What the operator's flags decide for every pipeline alike: graces and back-off, as plain durations.
//!
//! Must hold no value of a single pipeline; those are in [`Wanted`](super::plan::Wanted).

use jiff::{SignedDuration, Timestamp};

/// Graces and back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a container may wait (for its image, its config) before its Pod is reported, and replaced where a
    /// replacement can help.
    pub waiting_grace: SignedDuration,
    /// How long after its own grace a Pod may go on terminating before it is stuck.
    pub terminating_grace: SignedDuration,
    /// How long an object must have been without a pipeline before it is removed.
    pub orphan_grace: SignedDuration,
    /// How long no primary Pod may be available before the gate between canary and primaries no longer holds.
    pub gate_grace: SignedDuration,
    /// How long a Deployment of the Python operator must have been left alone before consumers are taken off it. That
    /// operator applies its Deployments again every 60 s, and later when it is busy.
    pub legacy_grace: SignedDuration,
    /// The wait before the replacement that carries two failures; it doubles with each further one.
    pub backoff_base: SignedDuration,
    /// The longest wait before a replacement.
    pub backoff_max: SignedDuration,
    /// A Pod that ran this long has no earlier failures.
    pub backoff_reset: SignedDuration,
}

impl Default for Settings {
    /// The defaults of the flags.
    fn default() -> Self {
        Self {
            waiting_grace: SignedDuration::from_secs(300),
            terminating_grace: SignedDuration::from_secs(600),
            orphan_grace: SignedDuration::from_secs(300),
            gate_grace: SignedDuration::from_secs(300),
            legacy_grace: SignedDuration::from_secs(90),
            backoff_base: SignedDuration::from_secs(10),
            backoff_max: SignedDuration::from_secs(300),
            backoff_reset: SignedDuration::from_secs(600),
        }
    }
}

/// `time + by`, at the end of time when that is beyond it.
#[must_use]
pub fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// `time` without the fraction of its second.
#[must_use]
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
