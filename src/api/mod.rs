//! The wire: what users write and read. Types with serde and schemars derives, and no behaviour.
//!
//! Must never import another module of this crate, and never decide anything. Doc comments of spec and status fields
//! are the descriptions in the CRD, so they are written for `kubectl explain`.

#![allow(
    clippy::doc_markdown,
    reason = "descriptions in a CRD are shown as they are, without markup"
)]

pub mod analysis_reasons;
pub mod analysis_status;
mod as_resource;
pub mod conditions;
pub mod deployment;
pub mod events;
pub mod manifests;
pub mod meta;
pub mod reasons;
pub mod rollout;
pub mod rollout_analysis;
pub mod status;
pub mod stored;
pub mod stored_analysis;
pub mod streaming_pipeline;

pub use analysis_reasons::AnalysisReason;
pub use analysis_status::RolloutAnalysisStatus;
pub use conditions::{AnalysisConditionType, Condition, ConditionStatus, ConditionType};
pub use events::{AnalysisNotice, NoticeReason};
pub use reasons::Reason;
pub use rollout::{OnFailure, PodReplacementPolicy, Rollout};
pub use rollout_analysis::{RolloutAnalysis, RolloutAnalysisSpec};
pub use status::StreamingPipelineStatus;
pub use stored::StoredPipeline;
pub use stored_analysis::StoredAnalysis;
pub use streaming_pipeline::{LogLevel, StreamingPipeline, StreamingPipelineSpec};
