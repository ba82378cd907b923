//! When a status that differs from the stored one is to be written.
//!
//! In a rollout a Pod that has ended changes one number, and the next step, mostly within the second, changes the status
//! again: one write says both. Must never hold back what a pass decides from, a condition, or how a rollout ended.

use jiff::{SignedDuration, Timestamp};

use crate::api::{ConditionStatus, ConditionType, StreamingPipelineStatus};
use crate::core::settings::later;

use super::condition;

/// How long the stored number of ending Pods may be behind.
const HELD_MAX: SignedDuration = SignedDuration::from_secs(1);

/// When a status is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Now.
    Now,
    /// At this time, if nothing else is to be written before.
    At(Timestamp),
}

/// When `next` is to be written, which differs from `previous`, the status as stored. `held_since` is when a difference
/// was first held back that has not been written since.
#[must_use]
pub fn due(
    previous: &StreamingPipelineStatus,
    next: &StreamingPipelineStatus,
    held_since: Option<Timestamp>,
    now: Timestamp,
) -> Due {
    let as_before = StreamingPipelineStatus {
        terminating_replicas: previous.terminating_replicas,
        ..next.clone()
    };
    if as_before != *previous || !is_under_way(next) {
        return Due::Now;
    }
    let since = held_since.unwrap_or(now);
    let at = later(since, HELD_MAX);
    // (a clock that was set back holds nothing longer)
    if now < since || now >= at {
        Due::Now
    } else {
        Due::At(at)
    }
}

/// Whether more is to come: the last number of a rollout is written at once.
fn is_under_way(status: &StreamingPipelineStatus) -> bool {
    let reconciling = condition(status, ConditionType::Reconciling);
    reconciling.is_some_and(|condition| condition.status == ConditionStatus::True.as_str())
}
