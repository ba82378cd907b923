//! Pods that only a person can help, in the words of a condition: they are named whatever else there is to say.
//!
//! Must never name a Pod that the operator itself can still replace.

use crate::api::PodReplacementPolicy;
use crate::core::health::Verdict;
use crate::core::observed::{Observed, PodFacts};
use crate::core::words::quoted;

use super::StatusInput;
use super::upkeep;

/// The Pod that does not end and may not be forced to, and how it is released.
pub(super) fn stuck(input: &StatusInput<'_>, observed: &Observed) -> Option<String> {
    let kept = input
        .wanted
        .is_some_and(|wanted| wanted.policy == PodReplacementPolicy::Failed);
    let is_stuck = |pod: &&PodFacts| pod.health.verdict == Verdict::Stuck && (kept || !pod.health.replace);
    let mut pods = observed.pods.iter().filter(is_stuck);
    let pod = pods.next()?;
    let more = match pods.count() {
        0 => String::new(),
        more => format!(" (+{more} more)"),
    };
    let is_wanted = pod.place.is_some_and(|place| upkeep::wanted(input).contains(&place));
    let empty = if is_wanted && !input.pipeline.deleting {
        ", and its place stays empty until it has"
    } else {
        ""
    };
    let name = &pod.name;
    Some(format!(
        "Pod {name} does not end{more}{empty}; if its node is gone for good: kubectl delete pod {name} --grace-period=0 --force"
    ))
}

/// The Pod that waits for something that no replacement can mend.
pub(super) fn permanent(observed: &Observed) -> Option<String> {
    let mut pods = observed.pods.iter();
    let pod = pods.find(|pod| pod.is_live() && pod.health.permanent)?;
    let reason = pod.health.verdict.reason().unwrap_or("NotReady");
    let message = pod
        .health
        .message
        .as_deref()
        .map(|message| format!(": {}", quoted(message)));
    Some(format!(
        "Pod {} cannot start, and only a mended spec helps: {reason}{}",
        pod.name,
        message.unwrap_or_default()
    ))
}
