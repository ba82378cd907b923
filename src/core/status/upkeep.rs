//! Why Pods are made or removed while no revision is rolled out: to heal, to restart, or to scale.
//!
//! Must never call it scaling when nobody changed the number of Pods. A cause that can no longer be seen on the Pods is the
//! one that the status before named.

use jiff::Timestamp;

use crate::api::{ConditionType, Reason};
use crate::core::names::{Ordinal, PodName, WorkloadSet};
use crate::core::observed::{Observed, Owner, PodFacts, PodState};

use super::StatusInput;
use super::conditions::{previous, reason_of};

/// The reason of `Ready` meanwhile.
pub(super) fn reason(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> Reason {
    let again = |pod: &PodFacts| pod.health.report || (pod.failures > 0 && !pod.ready);
    let broken = |pod: &PodFacts| pod.state == PodState::Ended || (pod.is_live() && again(pod));
    if observed.pods.iter().any(broken) {
        return Reason::Healing;
    }
    if restarts(input, observed, now) {
        return Reason::Restarting;
    }
    if is_resized(input) || has_surplus(input, observed) {
        return Reason::Scaling;
    }
    match before(input) {
        Some(reason @ (Reason::RollingOut | Reason::Restarting | Reason::Scaling)) => reason,
        // All was well, and nobody asked for another number: a Pod was lost.
        Some(Reason::Ready | Reason::Healing) => Reason::Healing,
        _ if has_first(input, observed) => Reason::Scaling,
        _ => Reason::Healing,
    }
}

fn restarts(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> bool {
    let running = |pod: &&PodFacts| matches!(pod.state, PodState::Live | PodState::Terminating);
    observed
        .pods
        .iter()
        .filter(running)
        .any(|pod| is_stale(input, pod, now))
}

/// Whether a Pod of ours is older than a `restartAt` that has come.
pub(super) fn is_stale(input: &StatusInput<'_>, pod: &PodFacts, now: Timestamp) -> bool {
    let restart_at = input.wanted.and_then(|wanted| wanted.restart_at);
    restart_at.is_some_and(|at| at <= now && pod.owner == Owner::Ours && pod.created < at)
}

/// Whether the status before was of other numbers of Pods.
fn is_resized(input: &StatusInput<'_>) -> bool {
    let (Some(wanted), Some(before)) = (input.wanted, &input.previous.replicas) else {
        return false;
    };
    let now = |set| i32::from(wanted.count(set));
    (before.primary, before.canary.unwrap_or(0)) != (now(WorkloadSet::Primary), now(WorkloadSet::Canary))
}

fn has_surplus(input: &StatusInput<'_>, observed: &Observed) -> bool {
    let wanted = wanted(input);
    let live = observed.pods.iter().filter(|pod| pod.is_live());
    live.filter_map(|pod| pod.place).any(|place| !wanted.contains(&place))
}

fn before(input: &StatusInput<'_>) -> Option<Reason> {
    previous(input, ConditionType::Ready).and_then(reason_of)
}

/// Whether a place that has no Ready Pod never had one that was replaced.
fn has_first(input: &StatusInput<'_>, observed: &Observed) -> bool {
    wanted(input).into_iter().any(|place| {
        let pods: Vec<_> = observed.pods.iter().filter(|pod| pod.place == Some(place)).collect();
        let first = |pod: &&PodFacts| {
            let name = PodName::parse(&pod.name);
            pod.is_live() && !pod.ready && name.is_some_and(|name| name.generation.get() == 0)
        };
        if pods.is_empty() {
            !input.facts.generations.contains_key(&place)
        } else {
            pods.iter().all(first)
        }
    })
}

/// The wanted places.
pub(super) fn wanted(input: &StatusInput<'_>) -> Vec<(WorkloadSet, Ordinal)> {
    let Some(wanted) = input.wanted else {
        return Vec::new();
    };
    let of = |set| Ordinal::all(wanted.count(set)).map(move |ordinal| (set, ordinal));
    WorkloadSet::ALL.into_iter().flat_map(of).collect()
}
