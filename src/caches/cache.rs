//! The objects of one kind, by name, and by what pipelines look for them by.
//!
//! kube's own store has neither: it finds the Pods of a pipeline by looking at all Pods, it does not tell which objects
//! were gone when a watch had to begin anew, and it cannot take several watches. Must never hold half a list: what a
//! list brings becomes visible when the list is complete.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::Resource;
use kube::runtime::watcher::Event;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::owner_of;
use super::watch::Scope;
use crate::api::meta::owner_uid;
use crate::core::collision::PipelineId;
use crate::core::names::PodName;

type Name = (String, String);

/// What objects are looked for by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Their own uid.
    Uid(String),
    /// The uid of their owner, from the label.
    OwnerUid(String),
    /// The pipeline that their annotations name.
    Owner(PipelineId),
    /// Namespace and base name, of names that could be our Pods'.
    Base(String, String),
}

impl Key {
    fn all(metadata: &ObjectMeta) -> impl Iterator<Item = Self> {
        let label = owner_uid(metadata.labels.as_ref());
        let name = metadata.name.as_deref().and_then(PodName::parse);
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let keys = [
            metadata.uid.clone().map(Self::Uid),
            label.cloned().map(Self::OwnerUid),
            owner_of(metadata).map(Self::Owner),
            name.map(|name| Self::Base(namespace, name.base.to_string())),
        ];
        keys.into_iter().flatten()
    }
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Cache<K> {
    objects: HashMap<Name, Arc<K>>,
    index: HashMap<Key, BTreeSet<Name>>,
    /// Lists that have begun and are not complete.
    lists: HashMap<Scope, BTreeMap<Name, Arc<K>>>,
    /// Scopes whose first list is complete.
    synced: BTreeSet<Scope>,
}

/// What an event did to the cache.
#[derive(Clone, Debug)]
pub enum Change<K> {
    /// The object is there, new or changed.
    Applied {
        /// As it is now.
        object: Arc<K>,
        /// As it was before, if it was there.
        before: Option<Arc<K>>,
    },
    /// The object is gone.
    Deleted(Arc<K>),
}

impl<K> Change<K> {
    /// The object, as it is or as it last was.
    #[must_use]
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Applied { object, .. } | Self::Deleted(object) => object,
        }
    }
}

impl<K> Default for Cache<K> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            index: HashMap::new(),
            lists: HashMap::new(),
            synced: BTreeSet::new(),
        }
    }
}

impl<K: Resource> Cache<K> {
    /// Takes an event of the watch of `scope`, and says what it changed. A list changes nothing until it is complete,
    /// and then tells of every object that came, changed or went meanwhile.
    pub fn take(&mut self, scope: &Scope, event: Event<K>) -> Vec<Change<K>> {
        match event {
            Event::Init => {
                self.lists.insert(scope.clone(), BTreeMap::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                let list = self.lists.entry(scope.clone()).or_default();
                list.insert(name_of(&object), Arc::new(object));
                Vec::new()
            }
            Event::InitDone => self.list_done(scope),
            Event::Apply(object) => vec![self.apply(Arc::new(object))],
            Event::Delete(object) => self.delete(&name_of(&object)).into_iter().collect(),
        }
    }

    fn list_done(&mut self, scope: &Scope) -> Vec<Change<K>> {
        let list = self.lists.remove(scope).unwrap_or_default();
        let in_scope = self.objects.keys().filter(|(namespace, _)| scope.covers(namespace));
        let gone: Vec<Name> = in_scope.filter(|name| !list.contains_key(*name)).cloned().collect();
        let mut changes: Vec<Change<K>> = gone.iter().filter_map(|name| self.delete(name)).collect();
        for object in list.into_values() {
            changes.push(self.apply(object));
        }
        self.synced.insert(scope.clone());
        changes
    }

    fn apply(&mut self, object: Arc<K>) -> Change<K> {
        let name = name_of(object.as_ref());
        let before = self.objects.insert(name.clone(), Arc::clone(&object));
        if let Some(before) = &before {
            self.unindex(before.meta(), &name);
        }
        for key in Key::all(object.meta()) {
            self.index.entry(key).or_default().insert(name.clone());
        }
        Change::Applied { object, before }
    }

    fn delete(&mut self, name: &Name) -> Option<Change<K>> {
        let object = self.objects.remove(name)?;
        self.unindex(object.meta(), name);
        Some(Change::Deleted(object))
    }

    fn unindex(&mut self, metadata: &ObjectMeta, name: &Name) {
        for key in Key::all(metadata) {
            if let Some(names) = self.index.get_mut(&key) {
                names.remove(name);
                if names.is_empty() {
                    self.index.remove(&key);
                }
            }
        }
    }

    /// Whether the first list of each of `scopes` is complete.
    #[must_use]
    pub fn is_synced(&self, scopes: &[Scope]) -> bool {
        scopes.iter().all(|scope| self.synced.contains(scope))
    }

    /// The object of that name.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.objects.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// The objects that have this key, by name.
    pub fn by(&self, key: &Key) -> impl Iterator<Item = &Arc<K>> {
        let names = self.index.get(key).into_iter().flatten();
        names.filter_map(|name| self.objects.get(name))
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.values()
    }
}

fn name_of<K: Resource>(object: &K) -> Name {
    let meta = object.meta();
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;
    use crate::api::meta::{ANNOTATION_OWNER_NAME, ANNOTATION_OWNER_NAMESPACE};

    fn pod(namespace: &str, name: &str, owner: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some(namespace.to_owned());
        pod.metadata.name = Some(name.to_owned());
        let annotations = [(ANNOTATION_OWNER_NAME, owner), (ANNOTATION_OWNER_NAMESPACE, "ns")];
        pod.metadata.annotations = Some(annotations.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        pod
    }

    fn owned(cache: &Cache<Pod>, owner: &str) -> Vec<String> {
        let owner = Key::Owner(PipelineId {
            namespace: "ns".to_owned(),
            name: owner.to_owned(),
        });
        cache.by(&owner).filter_map(|pod| pod.metadata.name.clone()).collect()
    }

    fn listed(cache: &mut Cache<Pod>, scope: &Scope, pods: Vec<Pod>) -> Vec<Change<Pod>> {
        cache.take(scope, Event::Init);
        for pod in pods {
            assert!(cache.take(scope, Event::InitApply(pod)).is_empty());
        }
        cache.take(scope, Event::InitDone)
    }

    #[test]
    fn a_list_is_invisible_until_it_is_complete() {
        let mut cache = Cache::default();
        cache.take(&Scope::All, Event::Init);
        cache.take(&Scope::All, Event::InitApply(pod("a", "x", "p")));
        assert!(!cache.is_synced(&[Scope::All]));
        assert!(owned(&cache, "p").is_empty());
        cache.take(&Scope::All, Event::InitDone);
        assert!(cache.is_synced(&[Scope::All]));
        assert_eq!(owned(&cache, "p"), ["x"]);
    }

    #[test]
    fn what_went_while_the_watch_was_down_is_told_as_deleted() {
        let mut cache = Cache::default();
        listed(&mut cache, &Scope::All, vec![pod("a", "x", "p"), pod("a", "y", "p")]);
        let changes = listed(&mut cache, &Scope::All, vec![pod("a", "y", "p")]);
        let deleted: Vec<_> = changes
            .iter()
            .filter(|change| matches!(change, Change::Deleted(_)))
            .collect();
        assert_eq!(deleted.len(), 1);
        assert_eq!(owned(&cache, "p"), ["y"]);
    }

    #[test]
    fn a_list_of_one_namespace_leaves_the_others_alone() {
        let (a, b) = (Scope::Namespace("a".to_owned()), Scope::Namespace("b".to_owned()));
        let mut cache = Cache::default();
        listed(&mut cache, &a, vec![pod("a", "x", "p")]);
        assert!(!cache.is_synced(&[a.clone(), b.clone()]));
        listed(&mut cache, &b, vec![pod("b", "y", "p")]);
        listed(&mut cache, &a, vec![]);
        assert!(cache.is_synced(&[a, b]));
        assert_eq!(owned(&cache, "p"), ["y"]);
    }

    #[test]
    fn an_object_that_changes_its_owner_is_found_under_the_new_one_alone() {
        let mut cache = Cache::default();
        listed(&mut cache, &Scope::All, vec![pod("a", "x", "p")]);
        cache.take(&Scope::All, Event::Apply(pod("a", "x", "q")));
        assert!(owned(&cache, "p").is_empty());
        assert_eq!(owned(&cache, "q"), ["x"]);
        cache.take(&Scope::All, Event::Delete(pod("a", "x", "q")));
        assert!(owned(&cache, "q").is_empty());
        assert!(cache.get("a", "x").is_none());
    }
}
