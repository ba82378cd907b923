//! What every pass works with: the client, what has been seen, settings, the clock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::runtime::events::Recorder;
use kube::{Api, Client};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::errors::Failure;
use super::legacy::{LegacyRights, LegacySettings};
use super::namespaces::Namespaces;
use super::world::World;
use crate::caches::{Analyses, Pipelines, Triggers};
use crate::core::settings::Settings;
use crate::core::stored_revision::StoredRevision;
use crate::telemetry::Metrics;

/// How long a request of a pass may take. Longer than the API server's own limit for webhooks on Pods (30 s at most,
/// 10 s by default), and so short that a pass does not hang on a connection that has died.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);
/// How many stored revisions are kept in memory: with two revisions in use a pipeline, those of the hundred busiest.
const STORED_REVISIONS_MAX: usize = 256;

/// What time it is.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The wall clock.
    #[must_use]
    pub fn wall() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// Another clock, for tests that run on paused time.
    pub fn other(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(clock))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// What every pass works with.
pub struct Context {
    /// The gated client.
    pub client: Client,
    /// All pipelines.
    pub pipelines: Pipelines,
    /// All analyses.
    pub analyses: Analyses,
    /// What has been seen and done.
    pub world: Arc<World>,
    /// Who is to be looked at.
    pub triggers: Triggers,
    /// Graces and back-off.
    pub settings: Settings,
    /// The clock.
    pub clock: Clock,
    /// Metrics.
    pub metrics: Metrics,
    /// Publishes Events.
    pub recorder: Recorder,
    /// One permit a Pod write in flight, over all pipelines.
    pub pod_writes: Semaphore,
    /// Namespaces that may be on their way out.
    pub namespaces: Namespaces,
    /// How the Python operator is taken over from.
    pub legacy: LegacySettings,
    /// Where it is known that what was left can be removed.
    pub legacy_rights: LegacyRights,
    /// Stored revisions by the uid of their ControllerRevision: they never change.
    pub stored_revisions: Mutex<HashMap<String, Arc<StoredRevision>>>,
}

impl Context {
    /// Sends a request that is to do `what`, within a limit.
    pub async fn ask<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        match timeout(REQUEST_TIMEOUT, request).await {
            Ok(answer) => answer.map_err(Failure::of(what)),
            Err(_) => Err(Failure::timed_out(what, REQUEST_TIMEOUT)),
        }
    }

    /// The stored revision in the ControllerRevision of this name and uid; `None` when it is gone, is another one by
    /// now, or cannot be read.
    pub async fn stored_revision(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<Option<Arc<StoredRevision>>, Failure> {
        if let Some(known) = self.stored_revisions().get(uid) {
            return Ok(Some(Arc::clone(known)));
        }
        let api = Api::<ControllerRevision>::namespaced(self.client.clone(), namespace);
        let what = format!("read ControllerRevision {namespace}/{name}");
        let Some(object) = self.ask(&what, api.get_opt(name)).await? else {
            return Ok(None);
        };
        if object.metadata.uid.as_deref() != Some(uid) {
            return Ok(None);
        }
        let stored = read(&object);
        if let Some(stored) = &stored {
            let mut kept = self.stored_revisions();
            if kept.len() >= STORED_REVISIONS_MAX {
                // What is still in use comes back with the next pass that needs it.
                kept.clear();
            }
            kept.insert(uid.to_owned(), Arc::clone(stored));
        }
        Ok(stored)
    }

    fn stored_revisions(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<StoredRevision>>> {
        self.stored_revisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a ControllerRevision of ours holds; `None` when it cannot be read.
pub fn read(object: &ControllerRevision) -> Option<Arc<StoredRevision>> {
    match StoredRevision::decode(&object.data.as_ref()?.0) {
        Ok(stored) => Some(Arc::new(stored)),
        Err(error) => {
            tracing::warn!(name = object.metadata.name, %error, "a ControllerRevision cannot be read");
            None
        }
    }
}
