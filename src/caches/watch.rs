//! One watch: lists, watches, lists again when it must, for ever. Must never end by itself, and never log the same fault
//! twice in a row.

use std::fmt::Debug;

use futures::StreamExt as _;
use kube::api::Api;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::api::meta::{LABEL_MANAGED_BY, MANAGED_BY_VALUE};

/// Where a watch looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// In all namespaces.
    All,
    /// In one.
    Namespace(String),
}

impl Scope {
    /// The scopes of `--watch-namespace`: all namespaces when none is given.
    #[must_use]
    pub fn of(namespaces: &[String]) -> Vec<Self> {
        if namespaces.is_empty() {
            return vec![Self::All];
        }
        namespaces.iter().cloned().map(Self::Namespace).collect()
    }

    /// Whether objects of that namespace are seen.
    #[must_use]
    pub fn covers(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(name) => name == namespace,
        }
    }

    /// The API of a kind in this scope.
    #[must_use]
    pub fn api<K>(&self, client: Client) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        match self {
            Self::All => Api::all(client),
            Self::Namespace(name) => Api::namespaced(client, name),
        }
    }
}

/// What is selected of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Everything.
    Everything,
    /// What we made.
    ManagedByUs,
    /// What carries this label, whatever its value.
    Labelled(&'static str),
}

/// Watches a kind in `scope` until `stop`, and gives each event to `take`.
///
/// The list is a consistent read (no resourceVersion), and again after each gap of the watch; faults are logged and
/// tried again with back-off.
pub async fn run<K>(
    client: Client,
    scope: Scope,
    selection: Selection,
    stop: CancellationToken,
    mut take: impl FnMut(&Scope, Event<K>),
) where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut config = Config::default();
    match selection {
        Selection::Everything => {}
        Selection::ManagedByUs => config = config.labels(&format!("{LABEL_MANAGED_BY}={MANAGED_BY_VALUE}")),
        Selection::Labelled(label) => config = config.labels(label),
    }
    let mut events = watcher(scope.api::<K>(client), config).default_backoff().boxed();
    let mut last_fault = None;
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            event = events.next() => event,
        };
        match event {
            Some(Ok(event)) => {
                if matches!(event, Event::InitDone) && last_fault.take().is_some() {
                    tracing::info!(kind = %K::kind(&()), ?scope, "watches again");
                }
                take(&scope, without_managed_fields(event));
            }
            Some(Err(error)) => {
                let fault = error.to_string();
                if !is_routine(&error) && last_fault.as_ref() != Some(&fault) {
                    tracing::warn!(kind = %K::kind(&()), ?scope, %fault, "watch failed; goes on with what is known and tries again");
                    last_fault = Some(fault);
                }
            }
            // A watcher has no end of its own.
            None => return,
        }
    }
}

/// Whether a fault belongs to the ordinary life of a watch: its resourceVersion is too old, so it lists again.
fn is_routine(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410)
}

/// Nobody here reads managedFields, which are half of a small object.
fn without_managed_fields<K: Resource>(mut event: Event<K>) -> Event<K> {
    if let Event::Apply(object) | Event::Delete(object) | Event::InitApply(object) = &mut event {
        object.meta_mut().managed_fields = None;
    }
    event
}
