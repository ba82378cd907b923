//! The numbers of a status. Several Pods of one place count once: the second Pod of a hand-over is no further replica.

use std::collections::BTreeSet;

use crate::core::names::{Ordinal, WorkloadSet};
use crate::core::observed::{Observed, Owner, PodFacts, PodState};
use crate::core::plan::budget::Budget;

use super::StatusInput;

/// The numbers of a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Places with a live Pod.
    pub(super) total: i32,
    /// Places with a Ready one.
    pub(super) ready: i32,
    /// Places with one of the spec's revision.
    pub(super) updated: i32,
    /// Places with one of the spec's revision that is available.
    pub(super) updated_available: i32,
    /// Places with an available one.
    pub(super) available: i32,
    /// Pods that are being deleted and have not ended.
    pub(super) terminating: i32,
    /// Pods wanted now.
    pub(super) wanted: i32,
    /// Available Pods below which the pipeline is not available.
    pub(super) minimum: i32,
}

impl Counts {
    pub(super) fn new(input: &StatusInput<'_>, observed: &Observed) -> Self {
        let update = input.facts.update_revision.as_ref();
        let budget = input.wanted.map(Budget::new);
        let wanted = budget.map_or(0, |budget| budget.wanted);
        let minimum = budget.map_or(0, |budget| {
            budget.wanted.saturating_sub(budget.max_unavailable).max(wanted.min(1))
        });
        let is_updated =
            |pod: &PodFacts| pod.owner == Owner::Ours && pod.revision.is_some() && pod.revision.as_ref() == update;
        let terminating = observed.pods.iter().filter(|pod| pod.state == PodState::Terminating);
        // Consumers of the Python operator serve as well; one that ours is made beside is no further replica.
        let with_legacy = |ours: i32, theirs: usize| ours + number(theirs).min((number(wanted) - ours).max(0));
        let available = observed.legacy.available();
        Self {
            total: with_legacy(places(observed, |_| true), observed.legacy.live()),
            ready: with_legacy(places(observed, |pod| pod.ready), available),
            updated: places(observed, is_updated),
            updated_available: places(observed, |pod| is_updated(pod) && pod.is_available()),
            available: with_legacy(places(observed, PodFacts::is_available), available),
            terminating: number(terminating.count()),
            wanted: number(wanted),
            minimum: number(minimum),
        }
    }
}

/// A place, or the name of a Pod that has none.
pub(super) type PlaceKey<'a> = Result<(WorkloadSet, Ordinal), &'a str>;

pub(super) fn place_of(pod: &PodFacts) -> PlaceKey<'_> {
    pod.place.ok_or(pod.name.as_str())
}

fn places(observed: &Observed, counts: impl Fn(&PodFacts) -> bool) -> i32 {
    let pods = observed.pods.iter().filter(|pod| pod.is_live() && counts(pod));
    number(pods.map(place_of).collect::<BTreeSet<_>>().len())
}

pub(super) fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
