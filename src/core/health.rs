//! How a Pod is: a pure function of the Pod and the time.
//!
//! Must never look at anything but the Pod: whether it is wanted is the planner's business.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

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
    Waiting(String),
    /// It ended, or cannot work.
    Failed(String),
    /// It is being deleted, within its grace.
    Terminating,
    /// It is being deleted and does not end.
    Stuck,
}

impl Health {
    /// Of a Pod that was created a moment ago and has not been seen since.
    #[must_use]
    pub fn just_created() -> Self {
        Self {
            verdict: Verdict::Waiting("ContainerCreating".to_owned()),
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

/// How `pod` is at `now`.
#[must_use]
pub fn classify(pod: &Pod, now: Timestamp, graces: &Graces) -> Health {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or("Unknown");
    let ready = status
        .and_then(|status| status.conditions.as_deref())
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let deleted = pod.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let verdict = match (deleted, phase) {
        (Some(at), _) if now < super::settings::later(at, graces.terminating) => Verdict::Terminating,
        (Some(_), _) => Verdict::Stuck,
        (None, "Failed" | "Succeeded") => Verdict::Failed(phase.to_owned()),
        (None, "Running") if ready => Verdict::Ready,
        (None, _) => Verdict::Waiting(phase.to_owned()),
    };
    let failed = matches!(verdict, Verdict::Failed(_));
    Health {
        report: failed || verdict == Verdict::Stuck,
        replace: failed,
        permanent: false,
        disruption: false,
        message: None,
        wake: None,
        failed_at: None,
        ran: SignedDuration::ZERO,
        verdict,
    }
}
