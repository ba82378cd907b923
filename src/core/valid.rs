//! A pipeline that passed every rule: the only input of rendering and planning.

use crate::api::StreamingPipelineSpec;

use super::names::{BaseName, Revision, WorkloadSet};
use super::violation::Violation;

/// A pipeline that passed every rule.
#[derive(Clone, Debug)]
pub struct ValidPipeline {
    spec: StreamingPipelineSpec,
    revision: Revision,
    primary: BaseName,
    canary: Option<BaseName>,
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
        let _ = (object_name, spec);
        Err(Vec::new())
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
    pub const fn base(&self, set: WorkloadSet) -> Option<&BaseName> {
        match set {
            WorkloadSet::Primary => Some(&self.primary),
            WorkloadSet::Canary => self.canary.as_ref(),
        }
    }

    /// What the Pods of the primary set, and the ConfigMaps of all revisions, are named with.
    #[must_use]
    pub const fn primary_base(&self) -> &BaseName {
        &self.primary
    }

    /// How many Pods each set should have.
    #[must_use]
    pub fn counts(&self) -> SetCounts {
        SetCounts::default()
    }
}
