//! A witness of the Pods of a namespace: which there were at every moment, told by a watch and not by the operator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt as _};
use tokio::task::JoinSet;

/// The Pods as the witness has them, and the fewest that were Ready.
#[derive(Default)]
struct Notes {
    there: BTreeMap<String, Pod>,
    /// By pipeline.
    fewest_ready: BTreeMap<String, usize>,
}

/// The witness; ends when dropped.
pub(crate) struct Pods {
    notes: Arc<Mutex<Notes>>,
    _watch: JoinSet<()>,
}

impl Pods {
    /// Watches a namespace.
    pub(crate) fn watch(client: &kube::Client, namespace: &str) -> Self {
        let notes = Arc::new(Mutex::new(Notes::default()));
        let mut watch = JoinSet::new();
        watch.spawn(follow(Api::namespaced(client.clone(), namespace), Arc::clone(&notes)));
        Self { notes, _watch: watch }
    }

    /// The fewest Pods of a pipeline that were Ready and not being deleted at one time since it was last asked.
    pub(crate) fn fewest_ready(&self, pipeline: &str) -> usize {
        let mut notes = self.notes.lock().unwrap();
        let now = ready(&notes.there, pipeline);
        notes.fewest_ready.insert(pipeline.to_owned(), now).unwrap_or(now)
    }

    /// The Pods that are there.
    pub(crate) fn now(&self) -> Vec<Pod> {
        self.notes.lock().unwrap().there.values().cloned().collect()
    }
}

async fn follow(api: Api<Pod>, notes: Arc<Mutex<Notes>>) {
    let events = watcher(api, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        let mut notes = notes.lock().unwrap();
        let pod = match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => {
                notes.there.insert(pod.name_any(), pod.clone());
                pod
            }
            Ok(Event::Delete(pod)) => {
                notes.there.remove(&pod.name_any());
                pod
            }
            Ok(Event::Init | Event::InitDone) => continue,
            Err(error) => panic!("the witness is blind: {error}"),
        };
        let pipeline = owner(&pod);
        let ready = ready(&notes.there, &pipeline);
        if let Some(fewest) = notes.fewest_ready.get_mut(&pipeline) {
            *fewest = ready.min(*fewest);
        }
    }
}

/// The pipeline of a Pod.
fn owner(pod: &Pod) -> String {
    let owner = pod.annotations().get("streams.sentry.io/owner-name");
    owner.cloned().unwrap_or_default()
}

fn ready(pods: &BTreeMap<String, Pod>, pipeline: &str) -> usize {
    pods.values()
        .filter(|pod| owner(pod) == pipeline && is_ready(pod))
        .count()
}

/// Ready, and not being deleted.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    pod.metadata.deletion_timestamp.is_none() && ready.any(|condition| condition.status == "True")
}
