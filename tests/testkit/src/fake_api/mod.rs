//! An API server within the process: an axum router behind [`kube::Client`], with what a controller's correctness
//! hangs on (resourceVersion conflicts, uid preconditions, finalizers, generateName, the status subresource, watches
//! with bookmarks and 410) and faults at any request. It knows no schema and no admission; the real API server of
//! this crate does. Runs on tokio's clock, paused or not.

mod routes;
mod store;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use tokio::sync::Notify;

pub use store::Key;
use store::Store;

/// A request as the server saw it, with what it answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Name of the client, as given to [`FakeApi::client`].
    pub client: String,
    /// get, list, watch, create, update, patch or delete.
    pub verb: &'static str,
    /// Plural of the resource, with `/status` for that subresource.
    pub resource: String,
    /// Namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// Name of the object; empty for collections.
    pub name: String,
    /// Body of the request; null without one.
    pub body: Value,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// Whether only metadata was asked for.
    pub metadata_only: bool,
}

impl Request {
    /// Whether the request asks for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }
}

/// What befalls a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It is answered as usual.
    None,
    /// It is answered with this code, reason and message, and changes nothing.
    Refused(u16, &'static str, String),
    /// It never reaches the server, and no answer comes.
    BlackHoled,
    /// The connection breaks before it reaches the server.
    Dropped,
    /// It is carried out, and the connection breaks before the answer.
    AnswerLost,
    /// It is answered as usual, so much later.
    Delayed(Duration),
    /// A proxy in between sends it twice, and the second answer is given.
    Repeated,
}

type Hook = Box<dyn FnMut(&Request) -> Fault + Send>;

/// The server. Clones are the same server.
#[derive(Clone, Default)]
pub struct FakeApi {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    store: Store,
    requests: Vec<Request>,
    hook: Option<Hook>,
}

impl FakeApi {
    /// An empty server.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What time the server has: tokio's clock, from the beginning of 2026.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.lock().store.now()
    }

    /// A client of this server; `name` tells its requests from those of others.
    #[must_use]
    pub fn client(&self, name: &str) -> Client {
        Client::new(self.service(name), "default")
    }

    /// From now on each request is first shown to `hook`, which says what befalls it.
    pub fn on_request(&self, hook: impl FnMut(&Request) -> Fault + Send + 'static) {
        self.lock().hook = Some(Box::new(hook));
    }

    /// No faults from now on.
    pub fn heal(&self) {
        self.lock().hook = None;
    }

    /// Everything that reached the server, dry runs and refusals included.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// The requests that asked for a change.
    #[must_use]
    pub fn writes(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_write).collect()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.lock().requests.clear();
    }

    /// Forgets the history of changes, so that a watch from before now is answered with 410 Gone.
    pub fn compact(&self) {
        self.lock().store.compact();
        self.changed.notify_waiters();
    }

    /// Stores an object as an administrator would, over what is there. `resource` is `group/plural`, or the plural
    /// alone for the core group.
    ///
    /// # Panics
    /// When the object has no name.
    pub fn put(&self, resource: &str, object: Value) {
        self.lock().store.put(resource, object);
        self.changed.notify_waiters();
    }

    /// Changes an object in place; nothing happens when it is not there.
    pub fn edit(&self, resource: &str, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        self.lock().store.edit(resource, namespace, name, change);
        self.changed.notify_waiters();
    }

    /// Waits for the next change.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Removes an object for good, as the garbage collector or a kubelet that has stopped a Pod does.
    pub fn remove(&self, resource: &str, namespace: &str, name: &str) {
        self.lock().store.remove(&Key::new(resource, namespace, name));
        self.changed.notify_waiters();
    }

    /// An object.
    #[must_use]
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.lock().store.get(&Key::new(resource, namespace, name)).cloned()
    }

    /// All objects of a resource, by namespace and name.
    #[must_use]
    pub fn list(&self, resource: &str) -> BTreeMap<String, Value> {
        self.lock().store.list(resource)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
