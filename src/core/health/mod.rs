//! How a Pod is: a pure function of the Pod and the time.
//!
//! Must never look at anything but the Pod: whether it is wanted is the planner's business.

mod cause;
mod look;
mod times;
mod waiting;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use look::Look;

pub use waiting::{Remedy, WaitingReason};

/// How long things may take before they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graces {
    /// A container that waits.
    pub waiting: SignedDuration,
    /// A Pod that terminates, after its own grace.
    pub terminating: SignedDuration,
    /// A Pod that runs and is not Ready: the pipeline's `progressDeadlineSeconds`.
    pub not_ready: SignedDuration,
}

/// How a Pod is.
#[allow(
    clippy::struct_excessive_bools,
    reason = "four answers to four questions, in any combination"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// In a word.
    pub verdict: Verdict,
    /// Whether it is reported as unhealthy.
    pub report: bool,
    /// Whether another Pod in its place can help.
    pub replace: bool,
    /// Whether only a person can help.
    pub permanent: bool,
    /// Whether it ended by no fault of its own (eviction, preemption, drain, loss of its node), so that it does not
    /// count towards the back-off.
    pub disruption: bool,
    /// In the kubelet's words.
    pub message: Option<String>,
    /// When the verdict changes by time alone.
    pub wake: Option<Timestamp>,
    /// From when the back-off of its replacement counts: when it ended, or when its grace was over.
    pub failed_at: Option<Timestamp>,
    /// How long its consumer ran.
    pub ran: SignedDuration,
}

/// How a Pod is, in a word, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Running and Ready.
    Ready,
    /// Not Ready yet, or no more.
    Waiting(WaitingReason),
    /// It ended, or its consumer did; the reason in the words of the kubelet.
    Failed(String),
    /// It is being deleted, within its grace.
    Terminating,
    /// It is being deleted and does not end.
    Stuck,
}

impl Verdict {
    /// The reason of a Pod that is not well.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Ready => None,
            Self::Waiting(reason) => Some(reason.as_str()),
            Self::Failed(reason) => Some(reason),
            Self::Terminating => Some("Terminating"),
            Self::Stuck => Some("StuckTerminating"),
        }
    }
}

impl Health {
    /// Of a Pod that was created a moment ago and has not been seen since.
    #[must_use]
    pub fn just_created() -> Self {
        Self::of(Verdict::Waiting(WaitingReason::Pending))
    }

    /// Whether it counts towards the back-off of what replaces it: a failure of its own, and no disruption.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.replace && !self.disruption
    }

    /// Nothing but the verdict.
    const fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            report: false,
            replace: false,
            permanent: false,
            disruption: false,
            message: None,
            wake: None,
            failed_at: None,
            ran: SignedDuration::ZERO,
        }
    }
}

/// How `pod` is at `now`. The first that fits:
///
/// 1. being deleted: terminating, and past the grace stuck;
/// 2. phase Succeeded or Failed: failed, replaced;
/// 3. not scheduled: waiting, reported;
/// 4. an init container, then a container, that cannot go on: of all of them first one that only a person can help, then
///    one that ended, then one whose Pod is to be replaced, then any other that waits;
/// 5. phase Unknown: waiting, reported;
/// 6. Running: ready, or waiting until it is;
/// 7. else waiting for its containers.
#[must_use]
pub fn classify(pod: &Pod, now: Timestamp, graces: &Graces) -> Health {
    let look = Look::new(pod, now, graces);
    let mut health = look
        .deleted()
        .or_else(|| look.ended())
        .or_else(|| look.unscheduled())
        .or_else(|| look.init_containers())
        .or_else(|| look.containers())
        .unwrap_or_else(|| look.phase());
    health.ran = look.ran();
    health
}

#[cfg(test)]
mod tests;
