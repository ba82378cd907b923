//! The status of a pipeline, from what was seen and done.
//!
//! Must never say what was planned: it takes the `Outcome` of the writes, and no action that has no result. An unchanged
//! world yields an equal status, so that nothing is written.

mod attention;
mod causes;
mod conditions;
mod counts;
pub mod due;
mod pods;
mod refusal;
mod state;
mod upkeep;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::meta::LABEL_OWNER_UID;
use crate::api::status::{FailedRevision, RolloutHold, RolloutStatus, SetGenerations, SetReplicas};
use crate::api::{Condition, ConditionType, NoticeReason, Reason, StreamingPipelineStatus};

use super::names::WorkloadSet;
use super::observed::{Observed, PipelineFacts};
use super::plan::{Action, BEFORE_THE_FAILURE, Facts, Hold, LEFT_BEHIND, Notice, Outcome, Phase, Wanted};
use super::settings::Settings;

use counts::Counts;
use state::{Mode, State};

/// Longest message of a condition or a Pod's report, in bytes, so that a status can never outgrow etcd's 1.5 MiB.
pub const MESSAGE_BYTES_MAX: usize = 1024;
/// Most entries of a list of Pods.
pub const PODS_MAX: usize = 50;
/// `rollout.phase` of a pipeline that is being deleted. No phase of the planner, which plans no rollout then.
const PHASE_DELETING: &str = "Deleting";

/// What a status is computed from.
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    /// The pipeline.
    pub pipeline: &'a PipelineFacts,
    /// What its spec asks for; `None` when it cannot be read at all.
    pub wanted: Option<&'a Wanted>,
    /// Digest of the config of the spec's revision; `None` when the spec cannot be rendered.
    pub config_version: Option<&'a str>,
    /// Why the spec cannot be read or rendered, each fault with its path; empty when it can.
    pub render_faults: &'a [String],
    /// What was seen before the actions.
    pub observed: &'a Observed,
    /// Where the rollout stands.
    pub facts: &'a Facts,
    /// What became of the actions; `None` for the write before them.
    pub outcome: Option<&'a Outcome>,
    /// The status as stored.
    pub previous: &'a StreamingPipelineStatus,
    /// Graces and back-off.
    pub settings: &'a Settings,
}

/// The status to be written: equal to the one before (so that nothing is written) when nothing has changed.
#[must_use]
pub fn status(input: &StatusInput<'_>, now: Timestamp) -> StreamingPipelineStatus {
    let after = input.outcome.map(|outcome| input.observed.after(outcome, now));
    let observed = after.as_ref().unwrap_or(input.observed);
    let counts = Counts::new(input, observed);
    let state = State::of(input, observed, &counts, now);
    let set = |set| input.wanted.map(|wanted| i32::from(wanted.count(set)));
    StreamingPipelineStatus {
        observed_generation: input.pipeline.generation,
        conditions: conditions::all(input, observed, &counts, &state, now),
        config_version: input.config_version.map(str::to_owned),
        workload_namespace: Some(workload_namespace(input.pipeline, observed)),
        replicas: set(WorkloadSet::Primary).map(|primary| SetReplicas {
            primary,
            canary: set(WorkloadSet::Canary).filter(|canary| *canary > 0),
        }),
        generations: generations(input.facts, input.outcome),
        pods: Some(pods::summary(input, observed, now)),
        total_replicas: counts.total,
        ready_replicas: counts.ready,
        updated_replicas: counts.updated,
        available_replicas: counts.available,
        terminating_replicas: counts.terminating,
        selector: Some(format!("{LABEL_OWNER_UID}={}", input.pipeline.uid)),
        current_revision: input.facts.current_revision.as_ref().map(ToString::to_string),
        update_revision: input.facts.update_revision.as_ref().map(ToString::to_string),
        rollout: Some(rollout(input, state.mode)),
    }
}

/// Where the pipeline's Pods run: in the old namespace as long as anything may be left there, so that no later run
/// forgets it.
fn workload_namespace(pipeline: &PipelineFacts, observed: &Observed) -> String {
    let old = observed.legacy.old_namespace.as_ref();
    let old = old.filter(|_| observed.is_in_old_namespace());
    old.unwrap_or(&pipeline.workload_namespace).clone()
}

/// What the new status says that the one before did not, where that is worth an Event.
#[must_use]
pub fn notices(previous: &StreamingPipelineStatus, next: &StreamingPipelineStatus) -> Vec<Notice> {
    let refused = refused(previous, next);
    refused.into_iter().chain(ignored(previous, next)).collect()
}

/// `Ready` became false for a reason that is an Event too.
fn refused(previous: &StreamingPipelineStatus, next: &StreamingPipelineStatus) -> Option<Notice> {
    let is = condition(next, ConditionType::Ready)?;
    let was = condition(previous, ConditionType::Ready);
    if was.is_some_and(|was| was.reason == is.reason) {
        return None;
    }
    let notable = [
        (Reason::RenderFailed, NoticeReason::RenderFailed),
        (Reason::NameCollision, NoticeReason::NameCollision),
        (Reason::ApiRejected, NoticeReason::ApiRejected),
        (Reason::Forbidden, NoticeReason::Forbidden),
        (Reason::QuotaExceeded, NoticeReason::QuotaExceeded),
    ];
    let (_, reason) = notable.into_iter().find(|(of, _)| of.as_str() == is.reason)?;
    Some(Notice {
        reason,
        message: is.message.clone(),
    })
}

/// An annotation that does nothing was not named before. [`conditions`] names them first, so that none is cut off. A
/// `resume` that is there when its revision fails, or an `abort` when it is resumed, did its work before.
fn ignored(previous: &StreamingPipelineStatus, next: &StreamingPipelineStatus) -> Vec<Notice> {
    let said = |status| condition(status, ConditionType::RolloutPaused).map_or("", |is| is.message.as_str());
    let sentences = said(next).split(conditions::BETWEEN_ORDERS);
    let new = sentences.filter(|sentence| sentence.starts_with("annotation ") && !said(previous).contains(sentence));
    let failed = |status: &'_ StreamingPipelineStatus| status.rollout.as_ref()?.failed_revision.clone();
    let turns = failed(previous) != failed(next);
    let is_done = |sentence: &str| {
        [BEFORE_THE_FAILURE, LEFT_BEHIND]
            .iter()
            .any(|words| sentence.contains(words))
    };
    let new = new.filter(|sentence| !(turns && is_done(sentence)));
    new.map(|sentence| Notice {
        reason: NoticeReason::OrderIgnored,
        message: sentence.to_owned(),
    })
    .collect()
}

fn condition(status: &StreamingPipelineStatus, type_: ConditionType) -> Option<&Condition> {
    status
        .conditions
        .iter()
        .find(|condition| condition.type_ == type_.as_str())
}

/// The generation last given to each place. One whose create was refused was not given: the next try has the same name, so
/// that a refusal that lasts is told in the same words each time, and another's Pod under our name is met again and not
/// got around.
fn generations(facts: &Facts, outcome: Option<&Outcome>) -> Option<SetGenerations> {
    let mut given = facts.generations.clone();
    for (action, result) in outcome.into_iter().flat_map(|outcome| &outcome.results) {
        if let (Action::CreatePod(plan), true) = (action, result.may_be_done()) {
            given.insert((plan.set, plan.name.ordinal), plan.name.generation);
        }
    }
    let of = |wanted: WorkloadSet| -> BTreeMap<String, u16> {
        let entries = given.iter().filter(|((set, _), _)| *set == wanted);
        entries
            .map(|((_, ordinal), generation)| (ordinal.to_string(), generation.get()))
            .collect()
    };
    let generations = SetGenerations {
        primary: of(WorkloadSet::Primary),
        canary: of(WorkloadSet::Canary),
    };
    (generations != SetGenerations::default()).then_some(generations)
}

fn rollout(input: &StatusInput<'_>, mode: Mode) -> RolloutStatus {
    let facts = input.facts;
    // A rollout that only a person can get on is not progressing, whatever the Pods wait for.
    let phase = match (mode, facts.phase) {
        _ if input.pipeline.deleting => PHASE_DELETING,
        (Mode::Stalled, Phase::Progressing | Phase::AwaitingAnalysis) => Phase::Stalled.as_str(),
        (_, phase) => phase.as_str(),
    };
    let hold = |hold: &Hold| {
        let (by, reason) = hold.by.words();
        RolloutHold {
            by: by.to_owned(),
            reason: reason.as_str().to_owned(),
            since: hold.since.to_string(),
            message: cut(&hold.message),
        }
    };
    RolloutStatus {
        phase: phase.to_owned(),
        holds: facts.holds.iter().map(hold).collect(),
        gate_opened_for: facts.gate_opened_for.as_ref().map(ToString::to_string),
        failed_revision: facts.failed.as_ref().map(|failed| FailedRevision {
            name: failed.revision.to_string(),
            reason: failed.why.as_str().to_owned(),
            time: failed.at.to_string(),
        }),
        last_progress_time: facts.last_progress.map(|time| time.to_string()),
        returns_to: facts.returns_to.as_ref().map(ToString::to_string),
        answered_abort: facts.answered_abort.as_ref().map(ToString::to_string),
        no_primary_since: facts.no_primary_since.map(|time| time.to_string()),
    }
}

/// A text of at most [`MESSAGE_BYTES_MAX`] bytes; what is cut off is marked.
fn cut(text: &str) -> String {
    const MARK: &str = "…";
    if text.len() <= MESSAGE_BYTES_MAX {
        return text.to_owned();
    }
    let mut end = MESSAGE_BYTES_MAX - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
