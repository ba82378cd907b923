//! Where the Pods are to go: the revisions of a pass and what holds them.
//!
//! Must never be changed once the first Pod is looked at: every step of a pass judges by the same goal.

use jiff::Timestamp;

use crate::api::PodReplacementPolicy;
use crate::core::names::{Revision, WorkloadSet};
use crate::core::observed::Owner;

use super::budget::Budget;
use super::fleet::Member;

/// Where the Pods are to go.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent holds of a rollout, each with a rule of its own"
)]
#[derive(Clone, Debug)]
pub(super) struct Goal {
    /// Revision that every Pod is to have in the end.
    pub(super) wanted: Revision,
    /// Revision that last completed, if any did and can still be made.
    pub(super) current: Option<Revision>,
    /// Revision of the spec.
    pub(super) update: Revision,
    /// The spec's revision failed, and the wanted one is the current one.
    pub(super) failed: bool,
    /// The failed revision holds where it stands: no available Pod goes back.
    pub(super) failed_in_place: bool,
    /// No Pod is replaced for an update, and what is made again gets the current revision.
    pub(super) frozen: bool,
    /// Primary Pods may get the wanted revision.
    pub(super) gate_open: bool,
    /// There was no progress within the deadline.
    pub(super) past_deadline: bool,
    /// Pods created before this are replaced with their own revision.
    pub(super) restart_before: Option<Timestamp>,
    /// Whether an ordinal is refilled only when its old Pod is gone or ended.
    pub(super) policy: PodReplacementPolicy,
    /// The numbers.
    pub(super) budget: Budget,
    /// Pods wanted in the canary set: 0 or 1.
    pub(super) canaries: u16,
    /// Pods wanted in the primary set.
    pub(super) primaries: u16,
}

impl Goal {
    /// The revision that last completed, or the wanted one before any did.
    pub(super) fn fallback(&self) -> &Revision {
        self.current.as_ref().unwrap_or(&self.wanted)
    }

    /// Whether a Pod has the wanted revision. A predecessor's Pod has none of ours, whatever its label says.
    pub(super) fn has_wanted(&self, pod: &Member<'_>) -> bool {
        pod.owner == Owner::Ours && pod.revision.as_ref() == Some(&self.wanted)
    }

    /// Whether a Pod has the revision that last completed.
    pub(super) fn has_current(&self, pod: &Member<'_>) -> bool {
        pod.owner == Owner::Ours && pod.revision.as_ref() == Some(self.fallback())
    }

    /// Whether a Pod has the spec's revision.
    pub(super) fn has_update(&self, pod: &Member<'_>) -> bool {
        pod.owner == Owner::Ours && pod.revision.as_ref() == Some(&self.update)
    }

    /// Whether a Pod is older than `restartAt`.
    pub(super) fn is_stale(&self, pod: &Member<'_>) -> bool {
        self.restart_before.is_some_and(|time| pod.created < time)
    }

    /// Whether a Pod is as it is to be in the end, available or not.
    pub(super) fn is_final(&self, pod: &Member<'_>) -> bool {
        self.has_wanted(pod) && !self.is_stale(pod)
    }

    /// Pods wanted in a set.
    pub(super) const fn count(&self, set: WorkloadSet) -> u16 {
        match set {
            WorkloadSet::Canary => self.canaries,
            WorkloadSet::Primary => self.primaries,
        }
    }
}
