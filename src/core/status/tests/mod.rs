//! The status of a pass, on the smallest pipeline that shows it.

mod conditions;
mod due;
mod legacy;
mod messages;
mod notices;
mod numbers;
mod table;

use crate::api::{Condition, StreamingPipelineStatus};
use crate::core::names::PodName;
use crate::core::observed::{NamespaceState, Observed};
use crate::core::plan::fixtures::{Case, PodBuilder, WantedBuilder, at, observed, pod, recorded, revision, wanted};
use crate::core::plan::{Action, ActionResult, CreateReason, Outcome, PodDelete, PodPlan};

use super::*;

/// A pass at a second: what is decided is done, unless `result` says otherwise of all of it.
struct Scene {
    case: Case,
    faults: Vec<String>,
    result: ActionResult,
}

fn scene(wanted: WantedBuilder, seen: Observed, previous: StreamingPipelineStatus) -> Scene {
    Scene {
        case: Case::new(wanted, seen, previous),
        faults: Vec::new(),
        result: ActionResult::Done,
    }
}

/// Revision a is current and the spec's.
fn steady(wanted: WantedBuilder, pods: Vec<PodBuilder>) -> Scene {
    scene(wanted, completed(pods, "a"), recorded(Some('a'), 'a'))
}

/// Revision a is current, b the spec's.
fn rolling(wanted: WantedBuilder, pods: Vec<PodBuilder>) -> Scene {
    scene(wanted.revision('b'), completed(pods, "ab"), recorded(Some('a'), 'b'))
}

fn completed(pods: Vec<PodBuilder>, stored: &str) -> Observed {
    let mut seen = observed(pods, stored);
    seen.revisions[0].completed = Some(at(-50));
    seen
}

impl Scene {
    fn status(&self, second: i64) -> StreamingPipelineStatus {
        let decision = self.case.decide(second);
        let results = decision
            .actions
            .into_iter()
            .map(|action| (action, self.result.clone()))
            .collect();
        self.of(&decision.facts, Some(&Outcome { results }), second)
    }

    fn of(&self, facts: &Facts, outcome: Option<&Outcome>, second: i64) -> StreamingPipelineStatus {
        let input = StatusInput {
            pipeline: &self.case.pipeline,
            wanted: Some(&self.case.wanted),
            config_version: Some("0123456789abcdef0123456789abcdef"),
            render_faults: &self.faults,
            observed: &self.case.observed,
            facts,
            outcome,
            previous: &self.case.previous,
            settings: &self.case.settings,
        };
        let status = status(&input, at(second));
        for said in &status.conditions {
            is_as_documented(said);
        }
        status
    }

    /// Ready, Reconciling, Stalled, Available and Progressing as `status/reason`.
    fn row(&self, second: i64) -> String {
        let status = self.status(second);
        let mut words = Vec::new();
        for type_ in ["Ready", "Progressing"] {
            let condition = condition(&status, type_);
            words.push(format!("{}/{}", condition.status, condition.reason));
        }
        for type_ in ["Reconciling", "Stalled", "Available"] {
            words.push(condition(&status, type_).status.clone());
        }
        words.join(" ")
    }

    fn ready(&self, second: i64) -> String {
        condition(&self.status(second), "Ready").message.clone()
    }
}

/// docs/reasons.md names every condition that a reason is found on.
fn is_as_documented(said: &Condition) {
    let reason = Reason::ALL.iter().find(|reason| reason.as_str() == said.reason);
    let on = reason.expect("a known reason").page().on;
    let is_this = |(type_, status): &(ConditionType, crate::api::ConditionStatus)| {
        type_.as_str() == said.type_ && status.as_str() == said.status
    };
    assert!(
        on.iter().any(is_this),
        "the page of {} does not name this: {said:?}",
        said.reason
    );
}

fn condition<'a>(status: &'a StreamingPipelineStatus, type_: &str) -> &'a Condition {
    status
        .conditions
        .iter()
        .find(|condition| condition.type_ == type_)
        .expect("present from the first visit")
}

fn good() -> Vec<PodBuilder> {
    vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')]
}

fn half() -> Vec<PodBuilder> {
    vec![pod("svc-0-1", 'b').waits("Pending"), pod("svc-1-0", 'a')]
}
