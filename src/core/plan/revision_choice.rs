//! Which revision a Pod gets that is made in an empty place.
//!
//! It depends only on what is there now, never on what the place had or why it is empty: nothing remembers that after a
//! crash. Must never give a revision that does not work to more than `maxUnavailable` Pods, so that a broken image cannot
//! erode a pipeline to zero.

use crate::core::names::Revision;

use super::fleet::{Place, Slot};
use super::pass::Pass;
use super::steps;

/// The revision of the Pod to be made at an empty place. `canary_waits`: see [`steps::canary_waits`].
pub(super) fn choose(pass: &Pass<'_>, place: Place, canary_waits: bool) -> Revision {
    let goal = &pass.goal;
    let ended = pass.fleet.slot(place).and_then(Slot::last_ended);
    let wanted = if goal.frozen || goal.failed {
        false
    } else if ended.is_some_and(|pod| goal.has_wanted(pod)) {
        // It is made again as it was, unless more of them are unavailable than may be, itself included.
        pass.numbers.updated_unavailable <= goal.budget.max_unavailable
    } else {
        // The canary needs no gate: the gate waits for it.
        steps::may_try(pass) && (place.is_canary() || canary_waits || goal.gate_open)
    };
    let revision = if wanted { &goal.wanted } else { goal.fallback() };
    revision.clone()
}
