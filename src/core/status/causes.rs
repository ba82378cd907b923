//! Why Pods are not ready, in words: the worst cause, and what a pipeline waits for whose Pods all are.
//!
//! Must never count otherwise than the numbers of the status do.

use jiff::Timestamp;

use crate::core::health::Verdict;
use crate::core::names::{Ordinal, WorkloadSet};
use crate::core::observed::{PodFacts, PodState};
use crate::core::settings::whole_seconds;
use crate::core::words::{counted, quoted};

use super::conditions::Subject;
use super::{pods, upkeep};

/// Why a place has no Ready Pod; the lower the rank the more it wants a person.
struct Cause {
    rank: u8,
    reason: String,
    message: Option<String>,
    failures: u32,
    next_try: Option<Timestamp>,
}

impl Cause {
    fn words(&self) -> String {
        let message = self.message.as_deref().map(|message| format!(": {}", quoted(message)));
        format!("{}{}", self.reason, message.unwrap_or_default())
    }

    /// How often it failed and when it is tried next; empty for one that never failed.
    fn tries(&self) -> String {
        let often = match self.failures {
            0 => return String::new(),
            1 => "; failed once".to_owned(),
            failures => format!("; failed {failures} times in a row"),
        };
        match self.next_try {
            Some(at) => format!("{often}, next try at {}", whole_seconds(at)),
            None => often,
        }
    }
}

impl Subject<'_> {
    /// How many Pods are not ready, with the worst of their causes and how many share it.
    pub(super) fn root_cause(&self) -> String {
        let (wanted, ready) = (self.counts.wanted, self.counts.ready);
        let mut causes: Vec<_> = self
            .missing()
            .into_iter()
            .map(|place| (self.cause(place), place))
            .collect();
        causes.sort_by_key(|(cause, place)| (cause.rank, *place));
        let Some((worst, (set, ordinal))) = causes.first() else {
            return self.all_ready();
        };
        let similar = causes.iter().filter(|(cause, _)| cause.reason == worst.reason).count() - 1;
        let similar = if similar > 0 {
            format!(" (+{similar} similar)")
        } else {
            String::new()
        };
        let who = match set {
            WorkloadSet::Canary => "canary".to_owned(),
            WorkloadSet::Primary => format!("ordinal {ordinal}"),
        };
        let why = format!("{}{similar}{}", worst.words(), worst.tries());
        let kept = self.kept();
        if ready >= wanted {
            return format!(
                "{wanted} of {} ready, but not {who}: {why}{kept}",
                counted(wanted, "pod")
            );
        }
        format!(
            "{}/{} not ready: {who} {why}{kept}",
            wanted - ready,
            counted(wanted, "pod")
        )
    }

    /// The Pods beyond the wanted ones that serve in the place of some that do not.
    fn kept(&self) -> String {
        let wanted = upkeep::wanted(self.input);
        let is_surplus = |pod: &&PodFacts| pod.ready && pod.place.is_some_and(|place| !wanted.contains(&place));
        let kept = self.observed.pods.iter().filter(is_surplus);
        match named(kept) {
            None => String::new(),
            Some((pods, 1)) => format!("; {pods} is kept until then"),
            Some((pods, _)) => format!("; {pods} are kept until then"),
        }
    }

    /// What a pipeline waits for whose places all have a Ready Pod: first the successor in a hand-over.
    fn all_ready(&self) -> String {
        let (updated, wanted, total) = (self.counts.updated, self.counts.wanted, self.counts.total);
        let update = self.input.facts.update_revision.as_ref();
        let waits = |pod: &&PodFacts| {
            !pod.ready && pod.revision.as_ref() == update && matches!(pod.state, PodState::Live | PodState::Ended)
        };
        if let Some(successor) = self.observed.pods.iter().filter(waits).min_by_key(|pod| rank(pod)) {
            let cause = self.cause_of(successor);
            return format!(
                "{wanted} of {} ready, but not {}, which is to take over: {}{}",
                counted(wanted, "pod"),
                successor.name,
                cause.words(),
                cause.tries()
            );
        }
        let ending = self.ending();
        if total > wanted {
            return format!("{} wanted, {total} there{ending}", counted(wanted, "pod"));
        }
        let moved = format!("{updated} of {} updated, all ready", counted(wanted, "pod"));
        match wanted - self.counts.available {
            young if young > 0 => format!("{moved}, {young} not yet for minReadySeconds{ending}"),
            _ => format!("{moved}{ending}"),
        }
    }

    /// The Pods that are being deleted: a place with one may not be given a third, nor a pipeline called finished.
    fn ending(&self) -> String {
        let pods = self.observed.pods.iter();
        let ending = named(pods.filter(|pod| pod.state == PodState::Terminating));
        ending.map_or_else(String::new, |(pods, _)| format!("; waits for {pods} to end"))
    }

    /// The worst Pod of the spec's revision that is reported as unhealthy.
    pub(super) fn unwell_update(&self) -> Option<String> {
        let update = self.input.facts.update_revision.as_ref();
        let is_unwell = |pod: &&PodFacts| {
            pod.health.report
                && pod.revision.as_ref() == update
                && matches!(pod.state, PodState::Live | PodState::Ended)
        };
        let pods = self.observed.pods.iter().filter(is_unwell);
        let pod = pods.min_by_key(|pod| (rank(pod), &pod.name))?;
        let cause = self.cause_of(pod);
        Some(format!("Pod {} {}{}", pod.name, cause.words(), cause.tries()))
    }

    /// The wanted places without a Ready Pod. One that has none at all is in its order while consumers of the Python operator
    /// are there in its stead.
    fn missing(&self) -> Vec<(WorkloadSet, Ordinal)> {
        let is_held = self.observed.legacy.live() > 0;
        let empty = |place| !self.observed.pods.iter().any(|pod| pod.place == Some(place));
        let ready = |place| {
            let mut pods = self.observed.pods.iter();
            pods.any(|pod| pod.ready && pod.place == Some(place))
        };
        let wanted = upkeep::wanted(self.input).into_iter();
        let excused = |place| ready(place) || (is_held && empty(place));
        wanted.filter(|place| !excused(*place)).collect()
    }

    fn cause(&self, place: (WorkloadSet, Ordinal)) -> Cause {
        let pods = self.observed.pods.iter();
        let pods = pods.filter(|pod| pod.place == Some(place) && pod.state != PodState::Gone);
        match pods.min_by_key(|pod| (rank(pod), &pod.name)) {
            Some(pod) => self.cause_of(pod),
            None => Cause {
                rank: 5,
                reason: "has no Pod".to_owned(),
                message: None,
                failures: 0,
                next_try: None,
            },
        }
    }

    fn cause_of(&self, pod: &PodFacts) -> Cause {
        let (failures, next_try) = pods::tries(self.input, pod, self.now);
        Cause {
            rank: rank(pod),
            reason: pod.health.verdict.reason().unwrap_or("NotReady").to_owned(),
            message: pod.health.message.clone(),
            failures,
            next_try,
        }
    }
}

/// The first of these Pods by name, with how many more there are, and the number of them all; `None` when there is none.
pub(super) fn named<'p>(mut pods: impl Iterator<Item = &'p PodFacts>) -> Option<(String, usize)> {
    let first = &pods.next()?.name;
    let more = pods.count();
    let words = match more {
        0 => format!("Pod {first}"),
        more => format!("Pod {first} and {more} more"),
    };
    Some((words, more + 1))
}

fn rank(pod: &PodFacts) -> u8 {
    match (&pod.health.verdict, pod.health.permanent, pod.health.report) {
        (_, true, _) => 0,
        (Verdict::Failed(_) | Verdict::Stuck, _, _) => 1,
        (_, _, true) => 2,
        (Verdict::Terminating, _, _) => 4,
        _ => 3,
    }
}
