//! How often each kind of event and each branch of the planner occurred. A run in which one never did proves less than
//! it says.

use std::collections::BTreeMap;

use streaming_operator::api::NoticeReason;
use streaming_operator::core::plan::{Action, Decision, DeleteReason, Phase};
use streaming_operator::core::plan::{CreateReason, HoldBy, ObjectReason};

/// What must occur, besides every hold, phase and notice there is.
const ALL: &[&str] = &[
    "edit: revision",
    "edit: scale",
    "edit: pause",
    "edit: suspend",
    "edit: canary",
    "edit: restartAt",
    "edit: cannot be rendered",
    "order: promote",
    "order: abort",
    "order: resume",
    "analysis: pending",
    "analysis: passed",
    "analysis: failed",
    "pod: fails",
    "pod: is disrupted",
    "pod: is deleted by a person",
    "pod: is no longer ready",
    "pod: cannot pull its image",
    "pod: never becomes ready",
    "pod: will not end",
    "pod: another's takes a free name",
    "watch: an event comes twice",
    "watch: events come after a pass",
    "watch: events are lost",
    "operator: dies before its first write",
    "operator: dies between two writes",
    "operator: dies after its last write",
    "answer: of a create is lost",
    "answer: of a delete is lost",
    "answer: a create is refused",
    "answer: a dry run is refused",
    "pipeline: is deleted",
    "pipeline: is made again over its old Pods",
    "pipeline: its names are another's",
    "plan: add finalizer",
    "plan: remove finalizer",
    "plan: create revision",
    "plan: create config map",
    "plan: dry run",
    "plan: mark completed",
    "plan: create pod, Missing",
    "plan: create pod, Failed",
    "plan: create pod, HandOver",
    "plan: create pod, TakeOver",
    "plan: delete pod, OutdatedRevision",
    "plan: delete pod, Restart",
    "plan: delete pod, Predecessor",
    "plan: delete pod, Failed",
    "plan: delete pod, Ended",
    "plan: delete pod, Duplicate",
    "plan: delete pod, ScaleDown",
    "plan: delete pod, Drain",
    "plan: delete pod, RevisionFailed",
    "plan: delete pod, StuckTerminating",
    "plan: delete pod, PipelineDeleted",
    "plan: delete config map, Unused",
    "plan: delete config map, Predecessor",
    "plan: delete config map, PipelineDeleted",
    "plan: delete revision, Unused",
    "plan: delete revision, Predecessor",
    "facts first",
];

/// Counts by what occurred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<String, u64>);

impl Tally {
    pub(crate) fn note(&mut self, what: &str) {
        if let Some(count) = self.0.get_mut(what) {
            *count += 1;
        } else {
            self.0.insert(what.to_owned(), 1);
        }
    }

    /// Notes what the planner decided.
    pub(crate) fn decided(&mut self, decision: &Decision) {
        for action in &decision.actions {
            self.note(&branch(action));
        }
        for hold in &decision.facts.holds {
            self.note(&format!("hold: {:?}", hold.by));
        }
        for notice in &decision.notices {
            self.note(&format!("notice: {}", notice.reason.as_str()));
        }
        self.note(&format!("phase: {}", decision.facts.phase.as_str()));
        if decision.facts_first {
            self.note("facts first");
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what.clone()).or_default() += count;
        }
    }

    /// A line each.
    pub(crate) fn text(&self) -> String {
        let lines = self.0.iter().map(|(what, count)| format!("{count:>10}  {what}\n"));
        lines.collect()
    }

    /// What never occurred.
    pub(crate) fn missing(&self) -> Vec<String> {
        let holds = HoldBy::ALL.iter().map(|by| format!("hold: {by:?}"));
        let phases = Phase::ALL.iter().map(|phase| format!("phase: {}", phase.as_str()));
        // What a status says that the one before did not is told by the shell; of these the planner knows no transition.
        // Legacy Deployments are told of in stories, and explored in `tests/model`.
        let of_shell = [
            NoticeReason::NameCollision,
            NoticeReason::RenderFailed,
            NoticeReason::ApiRejected,
            NoticeReason::Forbidden,
            NoticeReason::QuotaExceeded,
            NoticeReason::OrderIgnored,
            NoticeReason::OrphanRemoved,
            NoticeReason::OrphanSweepRefused,
            NoticeReason::LegacyWorkloadRemoved,
            NoticeReason::LegacyWorkloadSetBack,
        ];
        let told = NoticeReason::ALL.iter().filter(|reason| !of_shell.contains(reason));
        let notices = told.map(|reason| format!("notice: {}", reason.as_str()));
        let all = ALL.iter().map(|what| (*what).to_owned());
        let all = all.chain(holds).chain(phases).chain(notices);
        all.filter(|what| !self.0.contains_key(what)).collect()
    }
}

fn branch(action: &Action) -> String {
    let create = |why: CreateReason| format!("plan: create pod, {why:?}");
    let delete = |why: DeleteReason| format!("plan: delete pod, {why:?}");
    let of = |what: &str, why: ObjectReason| format!("plan: delete {what}, {why:?}");
    match action {
        Action::AddFinalizer => "plan: add finalizer".to_owned(),
        Action::RemoveFinalizer => "plan: remove finalizer".to_owned(),
        Action::CreateRevision { .. } => "plan: create revision".to_owned(),
        Action::CreateConfigMap { .. } => "plan: create config map".to_owned(),
        Action::DryRunPod(_) => "plan: dry run".to_owned(),
        Action::CreatePod(plan) => create(plan.why),
        Action::DeletePod(pod) => delete(pod.why),
        Action::DeleteConfigMap { why, .. } => of("config map", *why),
        Action::DeleteRevision { why, .. } => of("revision", *why),
        Action::MarkCompleted { .. } => "plan: mark completed".to_owned(),
        Action::ClaimLegacy(_)
        | Action::ScaleLegacy(_)
        | Action::SetBackLegacy(_)
        | Action::DeleteLegacy { .. }
        | Action::DeleteLegacyConfigMap { .. }
        | Action::RemoveLegacyMarks => "plan: legacy".to_owned(),
    }
}
