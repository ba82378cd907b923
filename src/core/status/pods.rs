//! The Pods of a status: names of the live ones, and a report of each that is not as it should be.
//!
//! Must never grow without bound: each list is cut.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::api::status::{PodReport, PodsSummary, SetSummaries, SetSummary};
use crate::core::health::Verdict;
use crate::core::names::WorkloadSet;
use crate::core::observed::{Observed, PodFacts, PodState};
use crate::core::plan::{failures_after, next_try};

use super::counts::{number, place_of};
use super::{PODS_MAX, StatusInput, cut};

/// The Pods of both sets, together and apart.
pub(super) fn summary(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> PodsSummary {
    let desired = |set| input.wanted.map_or(0, |wanted| i32::from(wanted.count(set)));
    let all = of_set(input, observed, None, now);
    let primary = SetSummary {
        desired_replicas: desired(WorkloadSet::Primary),
        ..of_set(input, observed, Some(WorkloadSet::Primary), now)
    };
    let canary = SetSummary {
        desired_replicas: desired(WorkloadSet::Canary),
        ..of_set(input, observed, Some(WorkloadSet::Canary), now)
    };
    let has_canary = canary != SetSummary::default();
    PodsSummary {
        child_pods: all.child_pods,
        desired_replicas: desired(WorkloadSet::Primary) + desired(WorkloadSet::Canary),
        ready_replicas: all.ready_replicas,
        unhealthy_pods: all.unhealthy_pods,
        permanent_errors: all.permanent_errors,
        sets: Some(SetSummaries {
            primary,
            canary: has_canary.then_some(canary),
        }),
    }
}

fn of_set(input: &StatusInput<'_>, observed: &Observed, set: Option<WorkloadSet>, now: Timestamp) -> SetSummary {
    let in_set = |pod: &&PodFacts| set.is_none() || pod.place.map(|(of, _)| of) == set;
    let pods: Vec<_> = observed.pods.iter().filter(in_set).collect();
    let live = pods.iter().filter(|pod| pod.is_live());
    let ready = pods
        .iter()
        .filter(|pod| pod.ready)
        .map(|pod| place_of(pod))
        .collect::<BTreeSet<_>>();
    let mut unhealthy: Vec<_> = pods
        .iter()
        .filter(|pod| pod.health.report && pod.state != PodState::Gone)
        .collect();
    // Those that only a person can help come first, so that a cut list still names them.
    unhealthy.sort_by_key(|pod| (!pod.health.permanent, pod.name.as_str()));
    let reports = unhealthy.iter().map(|pod| report(input, pod, set.is_none(), now));
    SetSummary {
        child_pods: live.map(|pod| pod.name.clone()).take(PODS_MAX).collect(),
        desired_replicas: 0,
        ready_replicas: number(ready.len()),
        permanent_errors: reports
            .clone()
            .filter(|report| report.permanent)
            .take(PODS_MAX)
            .collect(),
        unhealthy_pods: reports.take(PODS_MAX).collect(),
    }
}

/// How often a Pod failed in a row, with those before it in its place, and when it is made again if that is later.
pub(super) fn tries(input: &StatusInput<'_>, pod: &PodFacts, now: Timestamp) -> (u32, Option<Timestamp>) {
    let failures = if pod.health.replace {
        failures_after(pod, input.settings)
    } else {
        pod.failures
    };
    let failed = pod.health.replace && pod.health.verdict != Verdict::Stuck;
    let next = failed
        .then(|| next_try(pod, failures, input.settings))
        .filter(|at| *at > now);
    (failures, next)
}

fn report(input: &StatusInput<'_>, pod: &PodFacts, with_set: bool, now: Timestamp) -> PodReport {
    let (failures, next) = tries(input, pod, now);
    PodReport {
        name: pod.name.clone(),
        ready: pod.ready,
        phase: pod.phase.clone(),
        ordinal: pod.place.map(|(_, ordinal)| ordinal.to_string()),
        reason: pod.health.verdict.reason().map(str::to_owned),
        message: pod.health.message.as_deref().map(cut),
        permanent: pod.health.permanent,
        workload_set: pod.place.filter(|_| with_set).map(|(set, _)| set.to_string()),
        failures: (failures > 0).then_some(failures),
        next_try: next.map(|at| at.to_string()),
    }
}
