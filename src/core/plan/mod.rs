//! From what a pipeline wants and what was seen to what is to be done now.
//!
//! A pass decides from what is there alone: nothing is remembered but what stands in the status, on the objects and in
//! the ledger of own writes, so that a crash after any write leaves a state from which the next pass goes on.
//! Must never touch an object that is not the pipeline's or its predecessor's.

pub mod decision;
pub mod wanted;

use jiff::Timestamp;

use crate::api::StreamingPipelineStatus;

use super::in_flight::Ledger;
use super::observed::{Observed, PipelineFacts};
use super::settings::Settings;

pub use decision::{
    Action, ActionResult, CreateReason, Decision, DeleteReason, Facts, Failed, FailedWhy, Hold, HoldBy, Notice,
    NoticeReason, ObjectReason, Outcome, Phase, PodDelete, PodPlan,
};
pub use wanted::{Bases, Orders, Wanted};

/// What the analyses of a pipeline say of its update revision, all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AnalysisVerdict {
    /// No Enforce analysis names the pipeline.
    #[default]
    None,
    /// At least one has not passed yet; the message says which and why.
    Pending(String),
    /// Every one has passed.
    Passed,
    /// One has failed; the message says which and why.
    Failed(String),
}

/// All that a pass is decided from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The pipeline.
    pub pipeline: &'a PipelineFacts,
    /// What its spec asks for; `None` when that cannot be read at all, so that nothing can be done.
    pub wanted: Option<&'a Wanted>,
    /// What was seen, with the own writes laid over it.
    pub observed: &'a Observed,
    /// The status as stored.
    pub previous: &'a StreamingPipelineStatus,
    /// What is remembered between passes; only its dry runs are looked at.
    pub ledger: &'a Ledger,
    /// What the analyses say.
    pub analysis: &'a AnalysisVerdict,
    /// Graces and back-off.
    pub settings: &'a Settings,
}

/// What is to be done now.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let _ = (input, now);
    Decision {
        facts: Facts::default(),
        facts_first: false,
        actions: Vec::new(),
        notices: Vec::new(),
        wake_after: None,
    }
}
