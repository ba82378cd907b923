//! All pipelines: the one watch of them, the index of their names, and who is to be looked at when one changes. Feeds
//! webhook and controller alike. Must never let an object that cannot be read hide another.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use kube::Client;
use kube::runtime::reflector::{self, Store, store::Writer};
use kube::runtime::watcher::Event;
use tokio::sync::watch as channel;
use tokio_util::sync::CancellationToken;

use super::cache::{Cache, Change, Key};
use super::id_of;
use super::triggers::Triggers;
use super::watch::{self, Scope, Selection};
use crate::api::{StoredPipeline, StreamingPipelineStatus};
use crate::core::collision::{NameIndex, NameSet, PipelineId};

/// Who is shown every event.
type Observer = Arc<dyn Fn(&Event<StoredPipeline>) + Send + Sync>;

/// All pipelines. Clones are the same.
#[derive(Clone)]
pub struct Pipelines {
    inner: Arc<Mutex<Inner>>,
    store: Store<StoredPipeline>,
    index: Arc<RwLock<NameIndex>>,
    triggers: Triggers,
    scopes: Arc<[Scope]>,
    /// Where all Pods run; `None`: each pipeline's in its own namespace.
    workload_namespace: Option<Arc<str>>,
    synced: channel::Sender<bool>,
    observer: Observer,
    /// Digest of the status that was last sent, by uid of the pipeline.
    sent: Arc<Mutex<HashMap<String, u64>>>,
}

struct Inner {
    cache: Cache<StoredPipeline>,
    writer: Writer<StoredPipeline>,
}

impl Pipelines {
    /// No pipelines yet: [`Pipelines::run`] brings them.
    ///
    /// `observer` is shown everything as the events of one watch: a whole list once all namespaces have been listed,
    /// and single changes from then on.
    #[must_use]
    pub fn new(
        watch_namespaces: &[String],
        workload_namespace: Option<&str>,
        triggers: Triggers,
        observer: impl Fn(&Event<StoredPipeline>) + Send + Sync + 'static,
    ) -> Self {
        let (store, writer) = reflector::store();
        Self {
            inner: Arc::new(Mutex::new(Inner {
                cache: Cache::default(),
                writer,
            })),
            store,
            index: Arc::default(),
            triggers,
            scopes: Scope::of(watch_namespaces).into(),
            workload_namespace: workload_namespace.map(Arc::from),
            synced: channel::channel(false).0,
            observer: Arc::new(observer),
            sent: Arc::default(),
        }
    }

    /// Watches until `stop`.
    pub async fn run(self, client: Client, stop: CancellationToken) {
        let watches = self.scopes.iter().map(|scope| {
            let pipelines = self.clone();
            let take = move |scope: &Scope, event| pipelines.take(scope, event);
            watch::run(client.clone(), scope.clone(), Selection::Everything, stop.clone(), take)
        });
        futures::future::join_all(watches).await;
    }

    fn take(&self, scope: &Scope, event: Event<StoredPipeline>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = inner.cache.take(scope, event);
        let told: Vec<PipelineId> = changes.iter().flat_map(|change| self.note(change)).collect();
        if *self.synced.borrow() {
            for change in changes {
                self.show(
                    &mut inner.writer,
                    &match change {
                        Change::Applied { object, .. } => Event::Apply(Arc::unwrap_or_clone(object)),
                        Change::Deleted(object) => Event::Delete(Arc::unwrap_or_clone(object)),
                    },
                );
            }
        } else if inner.cache.is_synced(&self.scopes) {
            let all: Vec<StoredPipeline> = inner.cache.all().map(|object| object.as_ref().clone()).collect();
            self.show(&mut inner.writer, &Event::Init);
            for object in all {
                self.show(&mut inner.writer, &Event::InitApply(object));
            }
            self.show(&mut inner.writer, &Event::InitDone);
            self.synced.send_replace(true);
        }
        drop(inner);
        // Only now, when who is called finds in the store what it is called for.
        for pipeline in told {
            self.triggers.tell(pipeline);
        }
    }

    fn show(&self, writer: &mut Writer<StoredPipeline>, event: &Event<StoredPipeline>) {
        writer.apply_watcher_event(event);
        (self.observer)(event);
    }

    /// Brings the index up to date; gives who is to be looked at.
    fn note(&self, change: &Change<StoredPipeline>) -> Vec<PipelineId> {
        let object = change.object();
        let pipeline = id_of(&object.metadata);
        let names = self.names(object);
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        match change {
            Change::Applied { before, .. } => {
                match names {
                    Some(names) => index.insert(pipeline.clone(), names),
                    None => index.remove(&pipeline),
                }
                let asked = before.as_deref().is_none_or(|before| asks_for_a_look(before, object));
                let asked = asked || before.as_deref().is_some_and(|before| self.is_anothers(before, object));
                asked.then_some(pipeline).into_iter().collect()
            }
            Change::Deleted(_) => {
                index.remove(&pipeline);
                self.sent().remove(object.metadata.uid.as_deref().unwrap_or_default());
                // Its names are free: who wanted one of them may have it now.
                let rivals = names.iter().flat_map(|names| index.rivals(&pipeline, names));
                rivals.chain([pipeline.clone()]).collect()
            }
        }
    }

    /// Notes the status that is about to be sent, so that it is known for an own write when the watch shows it.
    pub fn sends(&self, uid: &str, status: &StreamingPipelineStatus) {
        self.sent().insert(uid.to_owned(), digest(status));
    }

    /// Whether someone else wrote the status: it is to be put right, for what it says is not so.
    fn is_anothers(&self, before: &StoredPipeline, now: &StoredPipeline) -> bool {
        let same = before.status == now.status && before.status_is_foreign == now.status_is_foreign;
        let uid = now.metadata.uid.as_deref().unwrap_or_default();
        !same && (now.status_is_foreign || self.sent().get(uid) != Some(&digest(&now.status)))
    }

    fn sent(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names that a pipeline can take; `None` when its spec cannot be read.
    #[must_use]
    pub fn names(&self, pipeline: &StoredPipeline) -> Option<NameSet> {
        let spec = pipeline.spec.typed_fields()?;
        let id = id_of(&pipeline.metadata);
        Some(NameSet::of(self.workload_namespace(&id.namespace), &id.name, &spec))
    }

    /// Where the Pods of a pipeline of `namespace` run.
    #[must_use]
    pub fn workload_namespace<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.workload_namespace.as_deref().unwrap_or(namespace)
    }

    /// Where all Pods run, if that is one namespace.
    #[must_use]
    pub fn one_workload_namespace(&self) -> Option<&str> {
        self.workload_namespace.as_deref()
    }

    /// All pipelines, as kube's controller runtime reads them.
    #[must_use]
    pub fn store(&self) -> Store<StoredPipeline> {
        self.store.clone()
    }

    /// The pipeline of that name.
    #[must_use]
    pub fn get(&self, pipeline: &PipelineId) -> Option<Arc<StoredPipeline>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.cache.get(&pipeline.namespace, &pipeline.name)
    }

    /// Whether a pipeline of this uid exists.
    #[must_use]
    pub fn exists(&self, uid: &str) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.cache.by(&Key::Uid(uid.to_owned())).next().is_some()
    }

    /// All pipelines, by name.
    #[must_use]
    pub fn ids(&self) -> Vec<PipelineId> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.cache.all().map(|pipeline| id_of(&pipeline.metadata)).collect()
    }

    /// Other pipelines that can take one of the names of `pipeline`.
    #[must_use]
    pub fn rivals(&self, pipeline: &StoredPipeline) -> Vec<Arc<StoredPipeline>> {
        let Some(names) = self.names(pipeline) else {
            return Vec::new();
        };
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let rivals = index.rivals(&id_of(&pipeline.metadata), &names);
        drop(index);
        rivals.iter().filter_map(|rival| self.get(rival)).collect()
    }

    /// Says when all pipelines are known.
    #[must_use]
    pub fn synced(&self) -> channel::Receiver<bool> {
        self.synced.subscribe()
    }
}

fn digest(status: &StreamingPipelineStatus) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Maps are sorted, so equal statuses have equal bytes.
    serde_json::to_vec(status).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Whether what changed beside the status concerns the controller.
fn asks_for_a_look(before: &StoredPipeline, now: &StoredPipeline) -> bool {
    let (before, now) = (&before.metadata, &now.metadata);
    before.uid != now.uid
        || before.generation != now.generation
        || before.annotations != now.annotations
        || before.finalizers != now.finalizers
        || before.deletion_timestamp != now.deletion_timestamp
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};
    use serde_json::{Value, json};

    use super::*;
    use crate::telemetry::Metrics;

    fn stored(name: &str, change: impl FnOnce(&mut Value)) -> StoredPipeline {
        let mut object =
            json!({"metadata": {"name": name, "namespace": "ns", "uid": "u", "generation": 1}, "spec": {}});
        change(&mut object);
        serde_json::from_value(object).expect("anything can be read")
    }

    /// How many pipelines are called for when `p` changes like that.
    fn called_by(change: impl FnOnce(&mut Value)) -> usize {
        let triggers = Triggers::new(Metrics::new("0", "test", false));
        let pipelines = Pipelines::new(&[], None, triggers.clone(), |_| {});
        pipelines.take(&Scope::All, Event::Apply(stored("p", |_| {})));
        let mut read = triggers.read();
        pipelines.take(&Scope::All, Event::Apply(stored("p", change)));
        std::iter::from_fn(|| read.next().now_or_never().flatten()).count()
    }

    #[test]
    fn an_own_write_of_the_status_calls_nobody_and_that_of_another_calls_the_controller() {
        let triggers = Triggers::new(Metrics::new("0", "test", false));
        let pipelines = Pipelines::new(&[], None, triggers.clone(), |_| {});
        pipelines.take(&Scope::All, Event::Apply(stored("p", |_| {})));
        let mut read = triggers.read();
        let mut is_called_by = |status: Value| {
            pipelines.take(&Scope::All, Event::Apply(stored("p", |p| p["status"] = status)));
            read.next().now_or_never().is_some()
        };
        let ours = StreamingPipelineStatus {
            total_replicas: 3,
            ..StreamingPipelineStatus::default()
        };
        pipelines.sends("u", &ours);
        let ours = serde_json::to_value(&ours).expect("JSON");
        assert!(!is_called_by(ours.clone()), "the own write");
        assert!(is_called_by(json!({"totalReplicas": 99})), "another's");
        assert!(is_called_by(json!({})), "wiped");
        assert!(!is_called_by(ours), "put right");
    }

    #[test]
    fn an_edit_an_order_a_finalizer_and_a_deletion_call_the_controller() {
        assert_eq!(called_by(|p| p["metadata"]["generation"] = json!(2)), 1);
        assert_eq!(called_by(|p| p["metadata"]["annotations"] = json!({"a": "b"})), 1);
        assert_eq!(called_by(|p| p["metadata"]["finalizers"] = json!(["f"])), 1);
        assert_eq!(
            called_by(|p| p["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")),
            1
        );
        assert_eq!(called_by(|p| p["metadata"]["uid"] = json!("another")), 1);
    }

    #[tokio::test]
    async fn the_store_is_ready_when_every_namespace_has_been_listed() {
        let triggers = Triggers::new(Metrics::new("0", "test", false));
        let namespaces = ["a".to_owned(), "b".to_owned()];
        let pipelines = Pipelines::new(&namespaces, None, triggers, |_| {});
        let store = pipelines.store();
        for namespace in namespaces {
            assert!(
                store.wait_until_ready().now_or_never().is_none(),
                "{namespace} is not listed"
            );
            let scope = Scope::Namespace(namespace.clone());
            pipelines.take(&scope, Event::Init);
            let named = stored("p", |p| p["metadata"]["namespace"] = json!(namespace));
            pipelines.take(&scope, Event::InitApply(named));
            pipelines.take(&scope, Event::InitDone);
        }
        assert!(store.wait_until_ready().now_or_never().is_some());
        assert_eq!(store.state().len(), 2);
        assert!(*pipelines.synced().borrow());
    }
}
