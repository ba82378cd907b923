//! The status of a pipeline, from what was seen and done.
//!
//! Must never say what was planned: it takes the `Outcome` of the writes, and no action that has no result.

use jiff::Timestamp;

use crate::api::StreamingPipelineStatus;

use super::observed::{Observed, PipelineFacts};
use super::plan::{Facts, Outcome, Wanted};

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
}

/// The status to be written. Equal to the one before (so that nothing is written) when nothing has changed.
#[must_use]
pub fn status(input: &StatusInput<'_>, now: Timestamp) -> StreamingPipelineStatus {
    let _ = now;
    input.previous.clone()
}
