//! A pipeline that passed every rule: the only input of rendering and planning.
//!
//! Must never be made but by [`ValidPipeline::parse`], so that what takes one need not doubt it.

use crate::api::StreamingPipelineSpec;

use super::names::{BaseName, Revision, WorkloadSet};
use super::render::{self, Rendered};
use super::revision::revision;
use super::validation::Subject;
use super::violation::Violation;

/// A pipeline that passed every rule.
#[derive(Clone, Debug)]
pub struct ValidPipeline {
    spec: StreamingPipelineSpec,
    revision: Revision,
    counts: SetCounts,
    rendered: Rendered,
}

/// How many Pods each set should have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetCounts {
    /// Pods of the primary set.
    pub primary: u16,
    /// Pods of the canary set: 0 or 1.
    pub canary: u16,
}

impl SetCounts {
    /// What a spec asks for: nothing while it is suspended; one canary with `with_canary` and at least 2 replicas.
    fn of_spec(spec: &StreamingPipelineSpec) -> Self {
        // Validation keeps it from 0 to 999.
        let replicas = u16::try_from(spec.replicas).unwrap_or(0);
        if spec.suspend {
            return Self::default();
        }
        let canary = u16::from(spec.with_canary && replicas > 1);
        Self {
            primary: replicas - canary,
            canary,
        }
    }

    /// Pods of `set`.
    #[must_use]
    pub const fn of(self, set: WorkloadSet) -> u16 {
        match set {
            WorkloadSet::Canary => self.canary,
            WorkloadSet::Primary => self.primary,
        }
    }

    /// Pods of both sets.
    #[must_use]
    pub const fn total(self) -> u16 {
        self.primary + self.canary
    }
}

impl ValidPipeline {
    /// Checks `spec` of the object named `object_name` by every rule; gives all faults at once.
    pub fn parse(object_name: &str, spec: &StreamingPipelineSpec) -> Result<Self, Vec<Violation>> {
        Self::take(object_name, spec.clone())
    }

    /// [`ValidPipeline::parse`] of a spec that is needed no more, without a copy of it.
    pub fn take(object_name: &str, spec: StreamingPipelineSpec) -> Result<Self, Vec<Violation>> {
        let subject = Subject::of_spec(object_name, &spec);
        let faults = subject.faults().into_iter();
        let violations: Vec<Violation> = faults.map(|(rule, finding)| finding.under(rule)).collect();
        let canary_is_at_fault = subject.canary_is_at_fault();
        let Subject {
            pipeline_name,
            composition,
            ..
        } = subject;
        // The rules have checked the name, so either both say no or none does.
        match BaseName::parse(&composition.primary_base) {
            Some(primary) if violations.is_empty() => Ok(Self {
                revision: revision(&spec, object_name),
                counts: SetCounts::of_spec(&spec),
                rendered: render::of_composition(
                    composition,
                    primary,
                    spec.emergency_patch.as_ref(),
                    !canary_is_at_fault,
                ),
                spec: StreamingPipelineSpec {
                    pipeline_name: Some(pipeline_name),
                    ..spec
                },
            }),
            _ => Err(violations),
        }
    }

    /// The spec, with `pipeline_name` filled in.
    #[must_use]
    pub const fn spec(&self) -> &StreamingPipelineSpec {
        &self.spec
    }

    /// The revision of the spec.
    #[must_use]
    pub const fn revision(&self) -> &Revision {
        &self.revision
    }

    /// What the Pods of `set` are named with; `None` only for a canary that the spec does not ask for and whose name
    /// or template would be invalid.
    #[must_use]
    pub fn base(&self, set: WorkloadSet) -> Option<&BaseName> {
        self.rendered.set(set).map(|set| &set.base)
    }

    /// What the Pods of the primary set, and the ConfigMaps of all revisions, are named with.
    #[must_use]
    pub const fn primary_base(&self) -> &BaseName {
        &self.rendered.primary.base
    }

    /// How many Pods each set should have.
    #[must_use]
    pub const fn counts(&self) -> SetCounts {
        self.counts
    }

    /// What is created for it; see [`render::render`].
    #[must_use]
    pub const fn rendered(&self) -> &Rendered {
        &self.rendered
    }
}
