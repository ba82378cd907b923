//! Which pipeline holds which names.
//!
//! Must never take a clock: time is an argument. Every question costs as many look-ups as a pipeline has names, two.
//!
//! **Why base names are enough.** A Pod is named `{base}-{ordinal}-{generation}` and a ConfigMap `{base}-{hash}`; neither
//! ordinal, generation nor hash has a hyphen. So the base is read back from a name in one way, by cutting its last two
//! parts, or its last one, and two pipelines can take a common name, whatever the numbers, exactly when they have a
//! base name in common. `x-pipeline-a-1-0` and `x-pipeline-a-0` share none, though one seems to begin like the other's
//! Pods.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;

use crate::api::StreamingPipelineSpec;

use super::names::{BaseName, PodName, base_names};

/// A pipeline, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineId {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A base name in a workload namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Name {
    namespace: String,
    base: String,
}

/// The names that a pipeline can take in its workload namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSet {
    /// The base names of both sets; ConfigMaps are named with that of the primary.
    names: Vec<Name>,
}

impl NameSet {
    /// The names of the pipeline named `object_name`, valid or not, whose Pods run in `workload_namespace`: those of
    /// both sets, whatever `with_canary` and `replicas` say, for these change without a word to the index. A base name
    /// that no Pod can have is left out.
    #[must_use]
    pub fn of(workload_namespace: &str, object_name: &str, spec: &StreamingPipelineSpec) -> Self {
        let pipeline = spec.pipeline_name.as_deref().unwrap_or(object_name);
        let bases = base_names(&spec.service_name, pipeline, spec.segment_id);
        let valid = bases.into_iter().filter(|base| BaseName::parse(base).is_some());
        Self {
            names: valid
                .map(|base| Name {
                    namespace: workload_namespace.to_owned(),
                    base,
                })
                .collect(),
        }
    }

    /// Whether a Pod of that name in `namespace` can be one of theirs.
    #[must_use]
    pub fn holds_pod(&self, namespace: &str, name: &str) -> bool {
        let base = PodName::parse(name).map(|name| name.base.to_string());
        let holds = |name: &Name| name.namespace == namespace && Some(&name.base) == base.as_ref();
        self.names.iter().any(holds)
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
    /// Several pipelines have a name when they slipped in while nobody asked.
    holders: HashMap<Name, Vec<PipelineId>>,
    names: HashMap<PipelineId, NameSet>,
    reservations: HashMap<Name, Reservation>,
    /// The reservations by when they end, so that the expired are found without a search. Each once, however often it is
    /// renewed: a client that tries again and again must not fill the memory.
    expiring: BTreeSet<(Timestamp, Name)>,
}

#[derive(Clone, Debug)]
struct Reservation {
    pipeline: PipelineId,
    expires: Timestamp,
}

impl NameIndex {
    /// A pipeline exists (also while it is being deleted) with these names; replaces what was known of it, a
    /// reservation included.
    pub fn insert(&mut self, pipeline: PipelineId, names: NameSet) {
        self.remove(&pipeline);
        for name in &names.names {
            if self
                .reservations
                .get(name)
                .is_some_and(|held| held.pipeline == pipeline)
            {
                self.forget_reservation(name);
            }
            self.holders.entry(name.clone()).or_default().push(pipeline.clone());
        }
        self.names.insert(pipeline, names);
    }

    /// A pipeline is gone.
    pub fn remove(&mut self, pipeline: &PipelineId) {
        for name in self.names.remove(pipeline).into_iter().flat_map(|set| set.names) {
            if let Some(holders) = self.holders.get_mut(&name) {
                holders.retain(|holder| holder != pipeline);
                if holders.is_empty() {
                    self.holders.remove(&name);
                }
            }
        }
    }

    /// Another pipeline than `pipeline` that holds one of `names`, existing or by a reservation that is valid at `now`.
    #[must_use]
    pub fn collision(&self, pipeline: &PipelineId, names: &NameSet, now: Timestamp) -> Option<Collision> {
        names.names.iter().find_map(|name| {
            let existing = self.holders.get(name).into_iter().flatten();
            let reserved = self
                .reservations
                .get(name)
                .filter(|reservation| now < reservation.expires);
            let mut holders = existing.chain(reserved.map(|reservation| &reservation.pipeline));
            let holder = holders.find(|holder| *holder != pipeline)?;
            Some(Collision {
                holder: holder.clone(),
                name: name.base.clone(),
                namespace: name.namespace.clone(),
            })
        })
    }

    /// Every other pipeline that exists with one of `names`, each once, sorted.
    #[must_use]
    pub fn rivals(&self, pipeline: &PipelineId, names: &NameSet) -> Vec<PipelineId> {
        let holders = names.names.iter().filter_map(|name| self.holders.get(name)).flatten();
        let mut rivals: Vec<_> = holders.filter(|holder| *holder != pipeline).cloned().collect();
        rivals.sort();
        rivals.dedup();
        rivals
    }

    /// Reserves `names` for `pipeline` until `now + ttl`, or says who holds one of them. The same pipeline may renew.
    pub fn reserve(
        &mut self,
        pipeline: &PipelineId,
        names: &NameSet,
        now: Timestamp,
        ttl: Duration,
    ) -> Result<(), Collision> {
        self.forget_expired(now);
        if let Some(collision) = self.collision(pipeline, names, now) {
            return Err(collision);
        }
        // A time beyond all times is as good as the last one.
        let expires = now.checked_add(ttl).unwrap_or(Timestamp::MAX);
        for name in &names.names {
            let reservation = Reservation {
                pipeline: pipeline.clone(),
                expires,
            };
            self.forget_reservation(name);
            self.reservations.insert(name.clone(), reservation);
            self.expiring.insert((expires, name.clone()));
        }
        Ok(())
    }

    fn forget_reservation(&mut self, name: &Name) {
        if let Some(held) = self.reservations.remove(name) {
            self.expiring.remove(&(held.expires, name.clone()));
        }
    }

    fn forget_expired(&mut self, now: Timestamp) {
        while let Some((expires, _)) = self.expiring.first()
            && *expires <= now
        {
            if let Some((_, name)) = self.expiring.pop_first() {
                self.reservations.remove(&name);
            }
        }
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

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests;
