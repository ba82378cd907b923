//! Back-off of an ordinal: how many failures its next Pod carries, and when that may be made.
//!
//! The count stands on the Pods, so a restart of the operator forgets nothing. Must never hold up a Pod of another
//! revision than the one that failed.

use jiff::{SignedDuration, Timestamp};

use crate::core::names::Revision;
use crate::core::observed::{Owner, PodFacts};
use crate::core::settings::{Settings, later};

use super::pass::Pass;

/// How many failures a Pod of `revision` carries that is made now in place of `before`, or `None` when it may not be
/// made yet; the pass then wakes in time.
pub(super) fn due(pass: &mut Pass<'_>, before: Option<&PodFacts>, revision: &Revision) -> Option<u32> {
    let failures = before.map_or(0, |pod| carried(pass, pod, revision));
    let at = before.map_or(pass.now, |pod| next_try(pod, failures, pass.settings));
    if at <= pass.now {
        return Some(failures);
    }
    pass.wakes.push(at);
    None
}

/// How many failures a Pod of `revision` carries that is made in place of `pod`: one more if that failed by itself, and
/// none at all for another revision or after a person had the revision resumed.
pub(super) fn carried(pass: &Pass<'_>, pod: &PodFacts, revision: &Revision) -> u32 {
    if pod.owner != Owner::Ours || pod.revision.as_ref() != Some(revision) {
        return 0;
    }
    let resumed = pass.orders.resume.as_ref().filter(|(resumed, _)| resumed == revision);
    let failed_at = pod.health.failed_at.unwrap_or(pod.created);
    if resumed.is_some_and(|(_, time)| *time <= pass.now && failed_at <= *time) {
        return 0;
    }
    failures_after(pod, pass.settings)
}

/// How many failures the replacement of a Pod carries: one more than the Pod for a failure of its own, while one that
/// ran long enough has no earlier failures.
#[must_use]
pub fn failures_after(pod: &PodFacts, settings: &Settings) -> u32 {
    let earlier = if pod.health.ran >= settings.backoff_reset {
        0
    } else {
        pod.failures
    };
    earlier.saturating_add(u32::from(pod.health.counts()))
}

/// When the replacement of a Pod, which will carry `failures`, may be made.
#[must_use]
pub fn next_try(pod: &PodFacts, failures: u32, settings: &Settings) -> Timestamp {
    let wait = wait(failures, settings);
    if wait.is_zero() {
        return Timestamp::MIN;
    }
    pod.health.failed_at.map_or(Timestamp::MIN, |at| later(at, wait))
}

/// How long the replacement that carries `failures` waits after the failure: the first at once, from the second on
/// `base * 2^(failures - 2)`, at most `max`.
fn wait(failures: u32, settings: &Settings) -> SignedDuration {
    let Some(doublings) = failures.checked_sub(2) else {
        return SignedDuration::ZERO;
    };
    // 2^31 times any base is beyond any maximum.
    let factor = 1_i32
        .checked_shl(doublings)
        .filter(|factor| *factor > 0)
        .unwrap_or(i32::MAX);
    settings.backoff_base.saturating_mul(factor).min(settings.backoff_max)
}
