//! An analysis that passed every rule: what is measured, how often, and when it is enough.
//!
//! Must never be made but by [`ValidAnalysis::parse`], so that what takes one need not doubt it.

use std::time::Duration;

use super::rules;
use super::variables::QueryTemplate;
use crate::api::RolloutAnalysisSpec;
use crate::api::rollout_analysis::{AnalysisMetric, AnalysisMode, AnalysisTarget, OnNoData};
use crate::core::duration::whole_duration;
use crate::core::violation::Violation;

/// An analysis that passed every rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidAnalysis {
    /// The object whose rollout is watched, in the namespace of the analysis.
    pub target: AnalysisTarget,
    /// The metrics: 1 to 20, no two of one name.
    pub metrics: Vec<ValidMetric>,
    /// From one measurement to the next: 5 s to 24 h.
    pub interval: Duration,
    /// How many failing measurements of a revision fail it: 1 to 1000.
    pub failure_limit: u32,
    /// How many passing measurements of a revision pass it: 1 to 1000.
    pub required_passes: u32,
    /// From the first available Pod of a revision to the first measurement: 0 s to 24 h.
    pub initial_delay: Duration,
    /// What three measurements without data in a row do.
    pub on_no_data: OnNoData,
    /// Whether it can hold a rollout.
    pub mode: AnalysisMode,
}

/// A metric that passed every rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidMetric {
    /// Its name within the analysis.
    pub name: String,
    /// Its query.
    pub query: QueryTemplate,
    /// What its values are held against.
    pub limits: Limits,
    /// Name of the metrics source that is asked; whether the operator has one of that name is not known here.
    pub source: String,
}

/// What the values of a metric are held against. At least one is there, both are finite, and `min <= max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// No series may be above this.
    pub max: Option<f64>,
    /// No series may be below this.
    pub min: Option<f64>,
}

impl ValidAnalysis {
    /// Checks `spec` by every rule; gives all faults at once, each with its path from the root of the object.
    pub fn parse(spec: &RolloutAnalysisSpec) -> Result<Self, Vec<Violation>> {
        let violations = rules::violations(spec);
        // The rules have read all of it, so either both say no or none does.
        match Self::read(spec) {
            Some(valid) if violations.is_empty() => Ok(valid),
            _ => Err(violations),
        }
    }

    fn read(spec: &RolloutAnalysisSpec) -> Option<Self> {
        Some(Self {
            target: spec.target.clone(),
            metrics: spec.metrics.iter().map(ValidMetric::read).collect::<Option<_>>()?,
            interval: whole_duration(&spec.interval)?,
            failure_limit: u32::try_from(spec.failure_limit).ok()?,
            required_passes: u32::try_from(spec.required_passes).ok()?,
            initial_delay: whole_duration(&spec.initial_delay)?,
            on_no_data: spec.on_no_data,
            mode: spec.mode,
        })
    }
}

impl ValidMetric {
    fn read(metric: &AnalysisMetric) -> Option<Self> {
        Some(Self {
            name: metric.name.clone(),
            query: QueryTemplate::parse(&metric.query).ok()?,
            limits: Limits {
                max: metric.max_value,
                min: metric.min_value,
            },
            source: metric.source.clone(),
        })
    }
}
