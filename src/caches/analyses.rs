//! All analyses: the one watch of them, found by the target that they name, and which of them are to be looked at.
//!
//! What this process wrote is shown before the watch brings it: the gate of a pipeline must not be judged by a verdict that
//! was just taken back. Must never show nothing for analyses that have not been listed yet as if there were none.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::runtime::reflector::{self, Store, store::Writer};
use kube::runtime::watcher::Event;
use tokio::sync::{Notify, watch as channel};
use tokio_util::sync::CancellationToken;

use super::cache::{Cache, Change};
use super::id_of;
use super::triggers::Triggers;
use super::watch::{self, Scope, Selection};
use crate::api::rollout_analysis::{AnalysisTarget, TargetKind};
use crate::api::{StoredAnalysis, StoredPipeline};
use crate::core::analysis::gate::may_say_otherwise;
use crate::core::collision::PipelineId;

/// All analyses. Clones are the same.
#[derive(Clone)]
pub struct Analyses {
    inner: Arc<Mutex<Inner>>,
    store: Store<StoredAnalysis>,
    scopes: Arc<[Scope]>,
    /// Which of them are to be looked at.
    pub triggers: Triggers,
    /// Pipelines are to be looked at when an analysis of theirs says something else.
    pipelines: Triggers,
    synced: channel::Sender<bool>,
    /// Whether one names a Deployment.
    names_deployments: channel::Sender<bool>,
}

struct Inner {
    cache: Cache<StoredAnalysis>,
    writer: Writer<StoredAnalysis>,
    /// Names of the analyses of a target, by its namespace.
    by_target: HashMap<(String, TargetKind, String), BTreeSet<String>>,
    /// By uid: as the last own write left it, while the cache shows an older one.
    written: HashMap<String, OwnWrite>,
    /// Uids of those that have not begun with a new attempt of their pipeline.
    behind: HashSet<String>,
    /// Measurements under way, by analysis: what ends them early.
    measuring: HashMap<PipelineId, Arc<Notify>>,
    /// Who is told of analyses that are gone.
    gone: Option<UnboundedSender<Arc<StoredAnalysis>>>,
}

struct OwnWrite {
    older: BTreeSet<String>,
    written: Arc<StoredAnalysis>,
}

impl Analyses {
    /// No analyses yet: [`Analyses::run`] brings them.
    #[must_use]
    pub fn new(watch_namespaces: &[String], pipelines: Triggers) -> Self {
        let (store, writer) = reflector::store();
        Self {
            inner: Arc::new(Mutex::new(Inner {
                cache: Cache::default(),
                writer,
                by_target: HashMap::new(),
                written: HashMap::new(),
                behind: HashSet::new(),
                measuring: HashMap::new(),
                gone: None,
            })),
            store,
            scopes: Scope::of(watch_namespaces).into(),
            triggers: Triggers::uncounted(),
            pipelines,
            synced: channel::channel(false).0,
            names_deployments: channel::channel(false).0,
        }
    }

    /// Watches until `stop`.
    pub async fn run(self, client: Client, stop: CancellationToken) {
        let watches = self.scopes.iter().map(|scope| {
            let analyses = self.clone();
            let take = move |scope: &Scope, event| analyses.take(scope, event);
            watch::run(client.clone(), scope.clone(), Selection::Everything, stop.clone(), take)
        });
        futures::future::join_all(watches).await;
    }

    /// Takes an event of the watch.
    pub fn take(&self, scope: &Scope, event: Event<StoredAnalysis>) {
        let mut inner = self.lock();
        let changes = inner.cache.take(scope, event);
        let is_synced = *self.synced.borrow();
        for change in &changes {
            self.note(&mut inner, change);
            if is_synced {
                inner.writer.apply_watcher_event(&match change {
                    Change::Applied { object, .. } => Event::Apply(object.as_ref().clone()),
                    Change::Deleted(object) => Event::Delete(object.as_ref().clone()),
                });
            }
        }
        if !is_synced && inner.cache.is_synced(&self.scopes) {
            let all: Vec<StoredAnalysis> = inner.cache.all().map(|object| object.as_ref().clone()).collect();
            inner.writer.apply_watcher_event(&Event::Init);
            for object in all {
                inner.writer.apply_watcher_event(&Event::InitApply(object));
            }
            inner.writer.apply_watcher_event(&Event::InitDone);
            self.synced.send_replace(true);
        }
        drop(inner);
        // Only now, when who is called finds in the store what it is called for.
        for change in &changes {
            self.tell(change);
        }
    }

    /// Brings the look-up by target up to date, and what is remembered of the analysis.
    fn note(&self, inner: &mut Inner, change: &Change<StoredAnalysis>) {
        let object = change.object();
        let id = id_of(&object.metadata);
        let mut forget = |stored: &StoredAnalysis| {
            let Some(key) = target_of(stored) else { return };
            if let Some(names) = inner.by_target.get_mut(&key) {
                names.remove(&id.name);
                if names.is_empty() {
                    inner.by_target.remove(&key);
                }
            }
        };
        match change {
            Change::Applied { object, before } => {
                if let Some(before) = before {
                    forget(before);
                }
                if let Some(key) = target_of(object) {
                    if key.1 == TargetKind::Deployment {
                        self.names_deployments.send_replace(true);
                    }
                    inner.by_target.entry(key).or_default().insert(id.name.clone());
                }
                inner.saw(object);
                // Another one of its name: the one before is gone, though no event said so.
                if let Some(before) = before
                    && before.metadata.uid != object.metadata.uid
                {
                    inner.forget(before);
                }
            }
            Change::Deleted(object) => {
                forget(object);
                inner.forget(object);
            }
        }
    }

    /// Tells who is to look: at the analysis when it was edited, at its pipeline when it may say something else of it.
    fn tell(&self, change: &Change<StoredAnalysis>) {
        match change {
            Change::Applied { object, before } => {
                let before = before.as_deref();
                let edited = before.is_none_or(|before| is_edited(&before.metadata, &object.metadata));
                if edited {
                    self.interrupt(&id_of(&object.metadata));
                    self.triggers.tell(id_of(&object.metadata));
                }
                let otherwise = before.is_none_or(|before| may_say_otherwise(&before.status, &object.status));
                if edited || otherwise {
                    self.tell_pipeline(object);
                    if let Some(before) = before {
                        self.tell_pipeline(before);
                    }
                }
            }
            Change::Deleted(object) => {
                self.interrupt(&id_of(&object.metadata));
                self.tell_pipeline(object);
            }
        }
    }

    fn tell_pipeline(&self, analysis: &StoredAnalysis) {
        if let Some((namespace, TargetKind::StreamingPipeline, name)) = target_of(analysis) {
            self.pipelines.tell(PipelineId { namespace, name });
        }
    }

    /// Shown every event of the watch of pipelines: their analyses are to be looked at.
    pub fn saw_pipeline(&self, event: &Event<StoredPipeline>) {
        if let Event::Apply(pipeline) | Event::Delete(pipeline) | Event::InitApply(pipeline) = event {
            let id = id_of(&pipeline.metadata);
            for analysis in self.of_target(&id.namespace, TargetKind::StreamingPipeline, &id.name) {
                self.triggers.tell(id_of(&analysis.metadata));
            }
        }
    }

    /// Something happened to a Deployment: its analyses are to be looked at. One of another template (`edited`) is not
    /// measured to the end.
    pub fn saw_deployment(&self, deployment: &PipelineId, edited: bool) {
        for analysis in self.of_target(&deployment.namespace, TargetKind::Deployment, &deployment.name) {
            let id = id_of(&analysis.metadata);
            if edited {
                self.interrupt(&id);
            }
            self.triggers.tell(id);
        }
    }

    /// As analyses of a pipeline that begins with a new revision, or with an earlier one anew: none of them has a say
    /// until it has begun afresh.
    pub fn new_attempt(&self, pipeline: &PipelineId) {
        let analyses = self.of_target(&pipeline.namespace, TargetKind::StreamingPipeline, &pipeline.name);
        let mut inner = self.lock();
        inner
            .behind
            .extend(analyses.iter().filter_map(|analysis| analysis.metadata.uid.clone()));
    }

    /// Whether the analysis of that uid has not begun with its pipeline's new attempt.
    #[must_use]
    pub fn is_behind(&self, uid: &str) -> bool {
        self.lock().behind.contains(uid)
    }

    /// The analysis of that uid has begun with its pipeline's new attempt.
    pub fn caught_up(&self, uid: &str) {
        self.lock().behind.remove(uid);
    }

    /// A new term begins: what earlier ones left unsaid is in no status, and is forgotten.
    #[must_use]
    pub fn term_begins(&self) -> UnboundedReceiver<Arc<StoredAnalysis>> {
        let (sender, receiver) = unbounded();
        let mut inner = self.lock();
        inner.behind.clear();
        inner.measuring.clear();
        inner.gone = Some(sender);
        receiver
    }

    /// The measurement of that analysis begins; it is to end early when this is notified.
    #[must_use]
    pub fn measuring(&self, analysis: &PipelineId) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.lock().measuring.insert(analysis.clone(), Arc::clone(&notify));
        notify
    }

    /// The measurement of that analysis has ended.
    pub fn measured(&self, analysis: &PipelineId) {
        self.lock().measuring.remove(analysis);
    }

    fn interrupt(&self, analysis: &PipelineId) {
        if let Some(measuring) = self.lock().measuring.get(analysis) {
            measuring.notify_one();
        }
    }

    /// The analyses that name this target, by name, as they are known newest; none that is being deleted.
    #[must_use]
    pub fn of_target(&self, namespace: &str, kind: TargetKind, name: &str) -> Vec<Arc<StoredAnalysis>> {
        let key = (namespace.to_owned(), kind, name.to_owned());
        let inner = self.lock();
        let names = inner.by_target.get(&key).into_iter().flatten();
        let found = names.filter_map(|name| inner.cache.get(namespace, name));
        found
            .map(|cached| inner.newest(cached))
            .filter(|analysis| analysis.metadata.deletion_timestamp.is_none())
            .collect()
    }

    /// The analysis of that name, as it is known newest.
    #[must_use]
    pub fn get(&self, analysis: &PipelineId) -> Option<Arc<StoredAnalysis>> {
        let inner = self.lock();
        let cached = inner.cache.get(&analysis.namespace, &analysis.name)?;
        Some(inner.newest(cached))
    }

    /// Uids of all analyses.
    #[must_use]
    pub fn uids(&self) -> HashSet<String> {
        let inner = self.lock();
        inner
            .cache
            .all()
            .filter_map(|analysis| analysis.metadata.uid.clone())
            .collect()
    }

    /// Names of all analyses.
    #[must_use]
    pub fn ids(&self) -> Vec<PipelineId> {
        self.lock()
            .cache
            .all()
            .map(|analysis| id_of(&analysis.metadata))
            .collect()
    }

    /// `written` is `before` after an own write. Whoever goes by what it says is told at once.
    pub fn wrote(&self, before: &StoredAnalysis, written: &Arc<StoredAnalysis>) {
        if let Some(uid) = written.metadata.uid.clone() {
            let mut inner = self.lock();
            let earlier = inner.written.remove(&uid).map(|own| own.older);
            let mut older = earlier.unwrap_or_default();
            older.extend(before.metadata.resource_version.clone());
            let written = Arc::clone(written);
            inner.written.insert(uid, OwnWrite { older, written });
        }
        if may_say_otherwise(&before.status, &written.status) {
            self.tell_pipeline(written);
        }
    }

    /// All analyses, as kube's controller runtime reads them.
    #[must_use]
    pub fn store(&self) -> Store<StoredAnalysis> {
        self.store.clone()
    }

    /// Where they are watched.
    #[must_use]
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Says when all analyses are known.
    #[must_use]
    pub fn synced(&self) -> channel::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Says when one names a Deployment.
    #[must_use]
    pub fn names_deployments(&self) -> channel::Receiver<bool> {
        self.names_deployments.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn newest(&self, cached: Arc<StoredAnalysis>) -> Arc<StoredAnalysis> {
        let uid = cached.metadata.uid.as_deref().unwrap_or_default();
        let version = cached.metadata.resource_version.as_deref().unwrap_or_default();
        match self.written.get(uid) {
            Some(own) if own.older.contains(version) => Arc::clone(&own.written),
            _ => cached,
        }
    }

    /// The watch shows the own write, or what came after it: it is needed no more.
    fn saw(&mut self, object: &StoredAnalysis) {
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        let version = object.metadata.resource_version.as_deref().unwrap_or_default();
        if self.written.get(uid).is_some_and(|own| !own.older.contains(version)) {
            self.written.remove(uid);
        }
    }

    fn forget(&mut self, gone: &Arc<StoredAnalysis>) {
        let uid = gone.metadata.uid.as_deref().unwrap_or_default();
        self.written.remove(uid);
        self.behind.remove(uid);
        if let Some(sender) = &self.gone {
            // The reader is gone: its term has ended, and the next begins with what is left behind.
            let _ended = sender.unbounded_send(Arc::clone(gone));
        }
    }
}

/// What an analysis names, if its spec can be read.
fn target_of(analysis: &StoredAnalysis) -> Option<(String, TargetKind, String)> {
    let spec = analysis.spec.as_ref().as_ref().ok()?;
    let AnalysisTarget { kind, name } = &spec.target;
    let namespace = analysis.metadata.namespace.clone().unwrap_or_default();
    Some((namespace, *kind, name.clone()))
}

fn is_edited(before: &ObjectMeta, now: &ObjectMeta) -> bool {
    before.uid != now.uid || before.generation != now.generation || before.deletion_timestamp != now.deletion_timestamp
}

#[cfg(test)]
mod tests;
