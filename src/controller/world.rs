//! What the controller has seen and done: the caches of Pods, ConfigMaps and ControllerRevisions, and beside them what
//! it remembers of each pipeline between two passes.
//!
//! Both lie behind one lock, so that a reader never sees a cache from before and a ledger from after an event. Must never
//! be held across an await.

mod seen;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Resource;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use tokio::sync::watch as channel;

use super::backoff::Holds;
use super::orphans;
use crate::api::StoredPipeline;
use crate::api::meta::{LABEL_LEGACY_OWNER_UID, LABEL_OWNER_UID, owner_uid};
use crate::caches::{Cache, Change, Key, Pipelines, Scope, Triggers, owner_of};
use crate::core::in_flight::Ledger;
use crate::core::names::Revision;
use crate::core::observed::{Gathered, NamespaceState, Observed, PipelineFacts};
use crate::core::orphans::{Managed, ManagedKind};
use crate::core::plan::Wanted;
use crate::core::settings::Settings;
use crate::core::stored_revision::StoredRevision;

/// What has been seen and done.
pub struct World {
    inner: Mutex<Inner>,
    pipelines: Pipelines,
    triggers: Triggers,
    /// Where Pods and ConfigMaps are watched.
    pub workload_scopes: Vec<Scope>,
    /// Where ControllerRevisions are watched.
    pub pipeline_scopes: Vec<Scope>,
    /// Whether Deployments of the Python operator are watched.
    pub takes_over: bool,
    synced: channel::Sender<bool>,
}

#[derive(Default)]
struct Inner {
    pods: Cache<Pod>,
    config_maps: Cache<PartialObjectMeta<ConfigMap>>,
    revisions: Cache<PartialObjectMeta<ControllerRevision>>,
    /// Deployments of the Python operator, by the label that they were selected by.
    legacy: BTreeMap<&'static str, Cache<PartialObjectMeta<Deployment>>>,
    memories: HashMap<String, Memory>,
}

/// What is remembered of a pipeline (by uid) between two passes. All of it may be lost at any time: the next pass then
/// asks the API server.
#[derive(Default)]
pub struct Memory {
    /// Namespace of its Pods.
    workload_namespace: String,
    /// Own Pod writes that the cache does not show yet.
    pub ledger: Ledger,
    /// Deletes that were sent and have no answer yet: uid and name of the Pod.
    pub unanswered_deletes: BTreeMap<String, String>,
    /// The revision whose ControllerRevision was made, or found, last: the cache may not show it yet.
    pub made: Option<(Revision, Arc<StoredRevision>)>,
    /// Since when a difference of the status has been held back.
    pub status_held_since: Option<Timestamp>,
    /// What failed, and when it is tried again.
    pub holds: Holds,
    /// The pipeline as the last own write of it left it, while the cache shows an older one.
    own_write: Option<OwnWrite>,
    /// How many passes in a row could not be finished.
    failed_passes: u32,
}

struct OwnWrite {
    older: BTreeSet<String>,
    written: Arc<StoredPipeline>,
}

impl World {
    /// Nothing seen yet. Pods run in `workload_namespace`, or in the namespaces of their pipelines.
    #[must_use]
    pub fn new(
        pipelines: Pipelines,
        triggers: Triggers,
        watch_namespaces: &[String],
        workload_namespace: Option<&str>,
    ) -> Self {
        let pipeline_scopes = Scope::of(watch_namespaces);
        let workload_scopes = match workload_namespace {
            Some(namespace) => vec![Scope::Namespace(namespace.to_owned())],
            None => pipeline_scopes.clone(),
        };
        Self {
            inner: Mutex::default(),
            pipelines,
            triggers,
            workload_scopes,
            pipeline_scopes,
            takes_over: false,
            synced: channel::channel(false).0,
        }
    }

    /// With or without watches of Deployments of the Python operator.
    #[must_use]
    pub fn with_takeover(mut self, takes_over: bool) -> Self {
        self.takes_over = takes_over;
        if takes_over {
            let caches = [LABEL_LEGACY_OWNER_UID, LABEL_OWNER_UID].map(|label| (label, Cache::default()));
            self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).legacy = caches.into();
        }
        self
    }

    /// Takes an event of the watch of Deployments with this label.
    pub fn take_legacy(&self, label: &'static str, scope: &Scope, event: Event<PartialObjectMeta<Deployment>>) {
        let mut inner = self.lock();
        let Some(cache) = inner.legacy.get_mut(label) else {
            return;
        };
        let changes = cache.take(scope, event);
        self.settle(inner, &changes);
    }

    /// Whether the pipeline with this uid has a Deployment of the Python operator in that namespace.
    #[must_use]
    pub fn has_legacy(&self, uid: &str, namespace: &str) -> bool {
        let inner = self.lock();
        let key = Key::OwnerUid(uid.to_owned());
        let mut found = inner.legacy.values().flat_map(|cache| cache.by(&key));
        found.any(|object| object.metadata.namespace.as_deref() == Some(namespace))
    }

    /// Says when everything has been listed once.
    #[must_use]
    pub fn synced(&self) -> channel::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Takes an event of a Pod watch: into the cache, then off the ledgers, then to who owns the Pod.
    pub fn take_pod(&self, scope: &Scope, event: Event<Pod>) {
        let mut inner = self.lock();
        let in_scope = |memory: &Memory| scope.covers(&memory.workload_namespace);
        if matches!(event, Event::Init) {
            let memories = inner.memories.values_mut().filter(|memory| in_scope(memory));
            memories.for_each(|memory| memory.ledger.list_began());
        }
        let list_ended = matches!(event, Event::InitDone);
        let changes = inner.pods.take(scope, event);
        for change in &changes {
            inner.saw_pod(change, &self.pipelines);
        }
        if list_ended {
            let memories = inner.memories.values_mut().filter(|memory| in_scope(memory));
            memories.for_each(|memory| memory.ledger.list_ended());
        }
        self.settle(inner, &changes);
    }

    /// Takes an event of a ConfigMap watch.
    pub fn take_config_map(&self, scope: &Scope, event: Event<PartialObjectMeta<ConfigMap>>) {
        let mut inner = self.lock();
        let changes = inner.config_maps.take(scope, event);
        self.settle(inner, &changes);
    }

    /// Takes an event of a ControllerRevision watch.
    pub fn take_revision(&self, scope: &Scope, event: Event<PartialObjectMeta<ControllerRevision>>) {
        let mut inner = self.lock();
        let changes = inner.revisions.take(scope, event);
        self.settle(inner, &changes);
    }

    fn settle<K: Resource>(&self, inner: MutexGuard<'_, Inner>, changes: &[Change<K>]) {
        if !*self.synced.borrow() {
            let synced = inner.pods.is_synced(&self.workload_scopes)
                && inner.config_maps.is_synced(&self.workload_scopes)
                && inner.revisions.is_synced(&self.pipeline_scopes)
                && inner
                    .legacy
                    .values()
                    .all(|cache| cache.is_synced(&self.workload_scopes));
            if synced {
                self.synced.send_replace(true);
            }
        }
        drop(inner);
        for change in changes {
            if let Some(owner) = owner_of(change.object().meta()) {
                self.triggers.tell(owner);
            }
        }
    }

    /// Does something with what is remembered of the pipeline.
    pub fn remember<T>(&self, pipeline: &PipelineFacts, act: impl FnOnce(&mut Memory) -> T) -> T {
        let mut inner = self.lock();
        let memory = inner.memories.entry(pipeline.uid.clone()).or_default();
        memory.workload_namespace.clone_from(&pipeline.workload_namespace);
        act(memory)
    }

    /// Counts a pass of the pipeline with this uid; gives how many in a row could not be finished.
    pub fn count_pass(&self, uid: &str, finished: bool) -> u32 {
        let mut inner = self.lock();
        let memory = inner.memories.entry(uid.to_owned()).or_default();
        memory.failed_passes = if finished {
            0
        } else {
            memory.failed_passes.saturating_add(1)
        };
        memory.failed_passes
    }

    /// Forgets pipelines that are gone.
    pub fn forget_gone(&self) {
        self.lock().memories.retain(|uid, _| self.pipelines.exists(uid));
    }

    /// The pipeline as it is to be looked at: as we last wrote it, while the cache shows it from before that.
    #[must_use]
    pub fn newest(&self, cached: Arc<StoredPipeline>) -> Arc<StoredPipeline> {
        let Some(uid) = &cached.metadata.uid else { return cached };
        let mut inner = self.lock();
        let Some(memory) = inner.memories.get_mut(uid) else {
            return cached;
        };
        let version = cached.metadata.resource_version.as_deref().unwrap_or_default();
        match &memory.own_write {
            Some(own) if own.older.contains(version) => Arc::clone(&own.written),
            _ => {
                memory.own_write = None;
                cached
            }
        }
    }

    /// `written` is `before` after an own write.
    pub fn wrote(&self, pipeline: &PipelineFacts, before: &StoredPipeline, written: Arc<StoredPipeline>) {
        self.remember(pipeline, |memory| {
            let earlier = memory.own_write.take().map(|own| own.older);
            let mut older = earlier.unwrap_or_default();
            older.extend(before.metadata.resource_version.clone());
            memory.own_write = Some(OwnWrite { older, written });
        });
    }

    /// What is seen of a pipeline now, with a copy of its ledger from the same moment.
    #[must_use]
    pub fn observe(&self, pipeline: &StoredPipeline, look: &Look<'_>) -> (Observed, Ledger) {
        let rivals = self.pipelines.rivals(pipeline);
        let mut inner = self.lock();
        let collision = inner.collision(pipeline, &rivals, look.facts);
        let ledger = inner.memories.entry(look.facts.uid.clone()).or_default().ledger.clone();
        let seen = inner.look_for(look);
        let gathered = Gathered {
            live_owners: seen.other_owners(&look.facts.uid, &self.pipelines),
            pods: seen.pods,
            config_maps: seen.config_maps,
            revisions: seen.revisions,
            collision,
            namespace: look.namespace,
        };
        let observed = Observed::new(look.facts, look.wanted, &gathered, &ledger, look.settings, look.now);
        (observed, ledger)
    }

    /// The Pods and ConfigMaps that we made and whose pipeline is not known, and how many Pods there are that we made.
    #[must_use]
    pub fn unowned(&self) -> (Vec<Managed>, usize) {
        let inner = self.lock();
        let pods = inner.pods.all().map(|pod| (ManagedKind::Pod, &pod.metadata));
        let config_maps = inner
            .config_maps
            .all()
            .map(|map| (ManagedKind::ConfigMap, &map.metadata));
        let objects = pods.chain(config_maps);
        let objects = objects.filter_map(|(kind, metadata)| orphans::managed(kind, metadata));
        let is_known = |uid: &String| self.pipelines.exists(uid);
        let mut unowned: Vec<Managed> = objects
            .filter(|object| !object.owner_uid.as_ref().is_some_and(is_known))
            .collect();
        unowned.sort();
        (unowned, inner.pods.all().count())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a pass looks for.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The pipeline.
    pub facts: &'a PipelineFacts,
    /// What its spec asks for.
    pub wanted: Option<&'a Wanted>,
    /// How the workload namespace is.
    pub namespace: NamespaceState,
    /// Graces and back-off.
    pub settings: &'a Settings,
    /// The time of the pass.
    pub now: Timestamp,
}

impl Inner {
    /// Takes what the watch showed off the ledgers that may have noted it: that of the Pod's owner, and that of the
    /// pipeline which the Pod's annotations name (its predecessor's Pods are deleted by it).
    fn saw_pod(&mut self, change: &Change<Pod>, pipelines: &Pipelines) {
        let metadata = &change.object().metadata;
        let (Some(name), Some(uid)) = (&metadata.name, &metadata.uid) else {
            return;
        };
        let label = owner_uid(metadata.labels.as_ref()).cloned();
        let named = owner_of(metadata).and_then(|owner| pipelines.get(&owner));
        let named = named.and_then(|pipeline| pipeline.metadata.uid.clone());
        let owners: BTreeSet<String> = label.into_iter().chain(named).collect();
        for owner in owners {
            if let Some(memory) = self.memories.get_mut(&owner) {
                match change {
                    Change::Applied { .. } => {
                        memory
                            .ledger
                            .saw_applied(name, uid, metadata.deletion_timestamp.is_some());
                    }
                    Change::Deleted(_) => memory.ledger.saw_deleted(name, uid),
                }
            }
        }
    }
}
