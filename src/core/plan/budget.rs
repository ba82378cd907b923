//! The numbers of a pass, before any Pod is looked at.
//!
//! Must never depend on which Pods there are: they are spent against these numbers afterwards.

use crate::api::PodReplacementPolicy;

use super::wanted::Wanted;

/// How many Pods there must and may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Pods wanted now, of both sets.
    pub wanted: usize,
    /// `maxUnavailable` as it counts: at least 1, and at most `wanted - 1` where more than one Pod is wanted. Also how
    /// many Pods of a revision that does not work may be out at a time.
    pub max_unavailable: usize,
    /// An available Pod is deleted for an update only while more than this many are available.
    pub floor: usize,
    /// An available surplus Pod is deleted only while more than this many are available: the floor, and at least 1 while
    /// any Pod is wanted, whatever the policy. A surplus Pod has another ordinal than the Pod that takes over from it, so
    /// even an identity that must not run twice does not ask for a gap here.
    pub surplus_floor: usize,
    /// Whether an update makes the successor beside the old Pod: one Pod is wanted, and an identity may run twice.
    pub hand_over: bool,
}

impl Budget {
    /// Of what a pipeline wants.
    #[must_use]
    pub fn new(wanted: &Wanted) -> Self {
        let total = usize::from(wanted.total());
        let max_unavailable = usize::from(wanted.max_unavailable).clamp(1, total.saturating_sub(1).max(1));
        let hand_over = total == 1 && wanted.policy == PodReplacementPolicy::TerminatingOrFailed;
        let floor = if hand_over {
            1
        } else {
            total.saturating_sub(max_unavailable)
        };
        Self {
            wanted: total,
            max_unavailable,
            floor,
            surplus_floor: floor.max(total.min(1)),
            hand_over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::wanted;
    use super::*;

    fn numbers(replicas: u16, max_unavailable: u16) -> (usize, usize, usize) {
        let budget = Budget::new(&wanted(replicas).max_unavailable(max_unavailable).build());
        (budget.max_unavailable, budget.floor, budget.surplus_floor)
    }

    #[test]
    fn max_unavailable_counts_as_at_least_one() {
        assert_eq!(numbers(3, 0), (1, 2, 2));
        assert_eq!(numbers(12, 3), (3, 9, 9));
    }

    #[test]
    fn max_unavailable_never_counts_as_all_pods_where_there_are_several() {
        assert_eq!(numbers(2, 2), (1, 1, 1));
        assert_eq!(numbers(4, 100), (3, 1, 1));
    }

    #[test]
    fn one_pod_is_handed_over_and_keeps_its_floor() {
        assert_eq!(numbers(1, 1), (1, 1, 1));
        assert!(Budget::new(&wanted(1).build()).hand_over);
        assert!(!Budget::new(&wanted(2).build()).hand_over);
    }

    #[test]
    fn one_pod_whose_identity_must_not_run_twice_has_no_floor_but_against_surplus_pods() {
        let budget = Budget::new(&wanted(1).policy(PodReplacementPolicy::Failed).build());
        assert!(!budget.hand_over);
        assert_eq!((budget.floor, budget.surplus_floor), (0, 1));
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_wanted() {
        let budget = Budget::new(&wanted(3).suspend().build());
        assert_eq!((budget.wanted, budget.floor, budget.surplus_floor), (0, 0, 0));
    }
}
