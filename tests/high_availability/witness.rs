//! Watches Pods and ConfigMaps, and notes when objects of two owners are there under one name at the same time. Knows
//! labels and names, nothing of what the operator says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

const OWNER: &str = "streams.sentry.io/owner-uid";

#[derive(Default)]
struct Notes {
    /// Objects that are there: by the name that pipelines compete for, by owner, by kind and name.
    there: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Names under which two owners had objects at once.
    double: BTreeSet<String>,
    seen: usize,
}

/// The witness; ends when dropped.
pub(crate) struct Witness {
    notes: Arc<Mutex<Notes>>,
    _watches: JoinSet<()>,
}

impl Witness {
    /// Watches a namespace. `name_of` gives the contested name of an object's name.
    pub(crate) fn start(client: &kube::Client, namespace: &str, name_of: fn(&str) -> String) -> Self {
        let notes = Arc::new(Mutex::new(Notes::default()));
        let mut watches = JoinSet::new();
        watches.spawn(follow::<Pod>(
            "Pod",
            client.clone(),
            namespace.to_owned(),
            name_of,
            Arc::clone(&notes),
        ));
        let config_maps = follow::<ConfigMap>(
            "ConfigMap",
            client.clone(),
            namespace.to_owned(),
            name_of,
            Arc::clone(&notes),
        );
        watches.spawn(config_maps);
        Self {
            notes,
            _watches: watches,
        }
    }

    /// Names under which objects of two owners were there at the same time.
    pub(crate) fn double_owners(&self) -> Vec<String> {
        self.notes.lock().unwrap().double.iter().cloned().collect()
    }

    /// How many names have an object now.
    pub(crate) fn names(&self) -> usize {
        self.notes
            .lock()
            .unwrap()
            .there
            .values()
            .filter(|owners| !owners.is_empty())
            .count()
    }

    /// How many objects were seen.
    pub(crate) fn seen(&self) -> usize {
        self.notes.lock().unwrap().seen
    }
}

async fn follow<K>(
    kind: &'static str,
    client: kube::Client,
    namespace: String,
    name_of: fn(&str) -> String,
    notes: Arc<Mutex<Notes>>,
) where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    K: Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::namespaced(client, &namespace);
    let events = watcher(api, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        // The watch of a test is not interrupted; if it is, what was there stays noted, which can only accuse too much.
        let (object, is_there) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, true),
            Ok(Event::Delete(object)) => (object, false),
            Ok(Event::Init | Event::InitDone) => continue,
            Err(error) => panic!("the witness is blind: {error}"),
        };
        let Some(owner) = object.labels().get(OWNER) else {
            continue;
        };
        let (name, object) = (name_of(&object.name_any()), format!("{kind} {}", object.name_any()));
        notes.lock().unwrap().note(name, owner, object, is_there);
    }
}

impl Notes {
    fn note(&mut self, name: String, owner: &str, object: String, is_there: bool) {
        let owners = self.there.entry(name.clone()).or_default();
        if is_there {
            self.seen += usize::from(owners.entry(owner.to_owned()).or_default().insert(object));
        } else if let Some(objects) = owners.get_mut(owner) {
            objects.remove(&object);
            if objects.is_empty() {
                owners.remove(owner);
            }
        }
        if owners.len() > 1 {
            self.double.insert(name);
        }
    }
}

#[test]
fn the_witness_sees_two_owners_at_once_and_not_one_after_the_other() {
    let mut notes = Notes::default();
    notes.note("n".to_owned(), "a", "Pod p".to_owned(), true);
    notes.note("n".to_owned(), "a", "Pod p".to_owned(), false);
    notes.note("n".to_owned(), "b", "ConfigMap c".to_owned(), true);
    assert!(notes.double.is_empty());
    notes.note("n".to_owned(), "a", "Pod q".to_owned(), true);
    assert_eq!(notes.double, BTreeSet::from(["n".to_owned()]));
}
