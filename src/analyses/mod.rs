//! Analyses: measures at their intervals what they ask for, writes down what came of it, and holds and releases the
//! Deployments that they watch. Pipelines are held by their own passes, which read the verdicts.
//!
//! One scheduler for all of them, kube's controller runtime: a pass an analysis at a time, woken by what happens to it or
//! to its target, and by itself when its next measurement or attempt is due. A pass never sleeps, so that a source which
//! is away takes no place from analyses that wait for another. Must never decide what the core could decide, and never
//! write to a pipeline.

pub mod context;
pub mod deployments;
mod measure;
mod once;
mod pass;
mod report;
mod run;
mod status_write;
mod target;

pub use context::{AnalysisContext, AskSources};
pub use once::{TargetNames, look_once};
pub use run::lead;
