//! Planted defects: what the core is shown, or what it says, is spoiled in one way. The scenarios must find each.

use streaming_operator::core::in_flight::Ledger;
use streaming_operator::core::plan::{Action, Decision, Wanted};

use crate::cluster::SimPod;

/// A defect of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Own writes that the cache does not show are forgotten.
    InFlightMemoryOff,
    /// Whatever has a name of ours is ours.
    OwnerCheckOff,
    /// A delete names no uid.
    UidPreconditionIgnored,
    /// A Pod that is made gets the spec's revision, whatever the rule says.
    RefillWithTheNewest,
    /// One Pod more may be unavailable.
    BudgetOffByOne,
    /// A Pod that is terminating and still Ready is available.
    TerminatingCountsAsAvailable,
}

impl Defect {
    pub(crate) const ALL: [Self; 6] = [
        Self::InFlightMemoryOff,
        Self::OwnerCheckOff,
        Self::UidPreconditionIgnored,
        Self::RefillWithTheNewest,
        Self::BudgetOffByOne,
        Self::TerminatingCountsAsAvailable,
    ];
}

/// The memory of own writes that a pass is shown.
pub(crate) fn memory(defect: Option<Defect>, ledger: &Ledger) -> Ledger {
    if defect == Some(Defect::InFlightMemoryOff) {
        Ledger::default()
    } else {
        ledger.clone()
    }
}

/// A Pod as the cache hands it out.
pub(crate) fn shown(defect: Option<Defect>, pod: &SimPod, uid: &str) -> SimPod {
    let mut pod = pod.clone();
    match defect {
        Some(Defect::OwnerCheckOff) => uid.clone_into(&mut pod.owner),
        Some(Defect::TerminatingCountsAsAvailable) if !pod.is_ended() => pod.deleted = None,
        _ => {}
    }
    pod
}

/// What the spec asks for.
pub(crate) fn wanted(defect: Option<Defect>, mut wanted: Wanted) -> Wanted {
    if defect == Some(Defect::BudgetOffByOne) {
        wanted.max_unavailable += 1;
    }
    wanted
}

/// What was decided.
pub(crate) fn decided(defect: Option<Defect>, mut decision: Decision) -> Decision {
    if defect == Some(Defect::RefillWithTheNewest)
        && let Some(newest) = decision.facts.update_revision.clone()
    {
        for action in &mut decision.actions {
            if let Action::CreatePod(plan) = action {
                plan.revision = newest.clone();
            }
        }
    }
    decision
}
