//! What of the caches concerns a pipeline: its objects, those under its names, and who has these names. Must never look at
//! all objects for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::{Inner, Look};
use crate::api::StoredPipeline;
use crate::api::meta::owner_uid;
use crate::caches::{Cache, Key, Pipelines};
use crate::core::collision::{Claim, PipelineId, rightful_holder};
use crate::core::observed::PipelineFacts;

/// The objects that concern a pipeline.
pub(super) struct Seen<'a> {
    pub(super) pods: Vec<&'a Pod>,
    pub(super) config_maps: Vec<&'a ObjectMeta>,
    pub(super) revisions: Vec<&'a ObjectMeta>,
}

impl Seen<'_> {
    /// Of the other owners of these objects those that exist.
    pub(super) fn other_owners(&self, uid: &str, pipelines: &Pipelines) -> BTreeSet<String> {
        let pods = self.pods.iter().map(|pod| &pod.metadata);
        let others = pods
            .chain(self.config_maps.iter().copied())
            .chain(self.revisions.iter().copied());
        let uids = others.filter_map(|metadata| owner_uid(metadata.labels.as_ref()));
        let uids: BTreeSet<&String> = uids.filter(|owner| *owner != uid).collect();
        uids.into_iter()
            .filter(|owner| pipelines.exists(owner))
            .cloned()
            .collect()
    }
}

impl Inner {
    pub(super) fn look_for(&self, look: &Look<'_>) -> Seen<'_> {
        let facts = look.facts;
        let ours = Key::OwnerUid(facts.uid.clone());
        let names_us = Key::Owner(PipelineId {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
        });
        let bases = look
            .wanted
            .into_iter()
            .flat_map(|wanted| [Some(&wanted.primary), wanted.canary.as_ref()]);
        let bases = bases
            .flatten()
            .map(|base| Key::Base(facts.workload_namespace.clone(), base.to_string()));
        let pods = bases.chain([ours.clone()]).collect::<Vec<_>>();
        let both = [ours, names_us];
        Seen {
            pods: distinct(&self.pods, &pods, &facts.workload_namespace)
                .map(AsRef::as_ref)
                .collect(),
            config_maps: distinct(&self.config_maps, &both, &facts.workload_namespace)
                .map(|object| &object.metadata)
                .collect(),
            revisions: distinct(&self.revisions, &both, &facts.namespace)
                .map(|object| &object.metadata)
                .collect(),
        }
    }

    /// Who has the names of `pipeline`, if somebody else has.
    pub(super) fn collision(
        &self,
        pipeline: &StoredPipeline,
        rivals: &[Arc<StoredPipeline>],
        facts: &PipelineFacts,
    ) -> Option<String> {
        if rivals.is_empty() {
            return None;
        }
        let rivals = rivals.iter().map(AsRef::as_ref);
        let claims: Vec<Claim> = rivals
            .chain([pipeline])
            .map(|pipeline| self.claim(&pipeline.metadata, &facts.workload_namespace))
            .collect();
        let holder = rightful_holder(&claims)?;
        (holder.uid != facts.uid).then(|| format!("{}/{}", holder.pipeline.namespace, holder.pipeline.name))
    }

    fn claim(&self, metadata: &ObjectMeta, workload_namespace: &str) -> Claim {
        let uid = metadata.uid.clone().unwrap_or_default();
        let key = [Key::OwnerUid(uid.clone())];
        let pods = distinct(&self.pods, &key, workload_namespace).any(|pod| is_live(pod));
        let config_maps = distinct(&self.config_maps, &key, workload_namespace).next().is_some();
        let created = metadata.creation_timestamp.as_ref();
        Claim {
            pipeline: crate::caches::id_of(metadata),
            created: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            uid,
            in_use: pods || config_maps,
        }
    }
}

/// The objects of a namespace that have one of `keys`, each once.
fn distinct<'a, K: Resource>(
    cache: &'a Cache<K>,
    keys: &[Key],
    namespace: &str,
) -> impl Iterator<Item = &'a Arc<K>> + use<'a, K> {
    let mut found = BTreeMap::new();
    for object in keys.iter().flat_map(|key| cache.by(key)) {
        let meta = object.meta();
        if meta.namespace.as_deref() == Some(namespace) {
            found.insert(meta.name.clone(), object);
        }
    }
    found.into_values()
}

fn is_live(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Failed" | "Succeeded"))
}
