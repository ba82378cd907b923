//! Which pipeline holds which names, kept by a watch, with reservations for what was just admitted.
//!
//! Must never answer before a whole list was seen, and never forget a pipeline that is only being deleted.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::watcher::Event;

use crate::api::{StoredPipeline, StreamingPipelineSpec};
use crate::core::collision::{Collision, NameIndex, NameSet, PipelineId};

/// The names of all pipelines that we watch.
#[derive(Debug)]
pub struct Names {
    workload_namespace: Option<String>,
    reservation_ttl: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    index: NameIndex,
    /// Pipelines in `index` by the watch.
    known: HashSet<PipelineId>,
    /// Pipelines of the list that is coming in, while one is.
    listing: Option<HashSet<PipelineId>>,
    synced: bool,
}

/// What came of asking for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody else has any of them.
    Free,
    /// Another pipeline has one.
    Taken(Collision),
    /// No whole list has been seen yet.
    NotSynced,
}

impl Names {
    /// An index that has seen nothing yet.
    ///
    /// `workload_namespace`: where the Pods of all pipelines run; `None`: in the namespace of each. `reservation_ttl`:
    /// for how long names stay reserved for a pipeline that was admitted and has not been seen yet.
    #[must_use]
    pub fn new(workload_namespace: Option<String>, reservation_ttl: Duration) -> Self {
        Self {
            workload_namespace,
            reservation_ttl,
            state: Mutex::default(),
        }
    }

    /// Takes in one event of the watch of all pipelines. Every event has to come, in order.
    pub fn observe(&self, event: &Event<StoredPipeline>) {
        let mut state = self.lock();
        match event {
            Event::Apply(pipeline) => {
                self.insert(&mut state, pipeline);
            }
            Event::Delete(pipeline) => {
                let id = id_of(pipeline);
                state.index.remove(&id);
                state.known.remove(&id);
            }
            Event::Init => state.listing = Some(HashSet::new()),
            Event::InitApply(pipeline) => {
                let id = self.insert(&mut state, pipeline);
                if let Some(listing) = &mut state.listing {
                    listing.insert(id);
                }
            }
            Event::InitDone => {
                if let Some(listed) = state.listing.take() {
                    let gone: Vec<_> = state.known.difference(&listed).cloned().collect();
                    for id in &gone {
                        state.index.remove(id);
                    }
                    state.known = listed;
                }
                state.synced = true;
            }
        }
    }

    /// Whether a whole list has been seen.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.lock().synced
    }

    /// The names that a pipeline with this spec can take.
    #[must_use]
    pub fn of(&self, pipeline: &PipelineId, spec: &StreamingPipelineSpec) -> NameSet {
        let namespace = self.workload_namespace.as_deref().unwrap_or(&pipeline.namespace);
        NameSet::of(namespace, &pipeline.name, spec)
    }

    /// Whether `pipeline` may have `names`, asked at `now`.
    #[must_use]
    pub fn check(&self, pipeline: &PipelineId, names: &NameSet, now: Timestamp) -> Claim {
        let state = self.lock();
        if !state.synced {
            return Claim::NotSynced;
        }
        state
            .index
            .collision(pipeline, names, now)
            .map_or(Claim::Free, Claim::Taken)
    }

    /// [`Names::check`], and when they are free keeps them for `pipeline` until the watch shows it or the reservation
    /// ends.
    #[must_use]
    pub fn reserve(&self, pipeline: &PipelineId, names: &NameSet, now: Timestamp) -> Claim {
        let mut state = self.lock();
        if !state.synced {
            return Claim::NotSynced;
        }
        match state.index.reserve(pipeline, names, now, self.reservation_ttl) {
            Ok(()) => Claim::Free,
            Err(collision) => Claim::Taken(collision),
        }
    }

    fn insert(&self, state: &mut State, pipeline: &StoredPipeline) -> PipelineId {
        let id = id_of(pipeline);
        // A spec that cannot be read leaves what is known: its Pods are still there.
        if let Some(spec) = pipeline.spec.typed_fields() {
            let names = self.of(&id, &spec);
            state.index.insert(id.clone(), names);
        }
        state.known.insert(id.clone());
        id
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic inside the index would be a fault of the core, which is total; what is left is still the best we know.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn id_of(pipeline: &StoredPipeline) -> PipelineId {
    PipelineId {
        namespace: pipeline.metadata.namespace.clone().unwrap_or_default(),
        name: pipeline.metadata.name.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn names() -> Names {
        Names::new(None, TTL)
    }

    fn pipeline(name: &str, pipeline_name: &str) -> StoredPipeline {
        let object = json!({
            "metadata": {"name": name, "namespace": "ingest"},
            "spec": {
                "service_name": "metrics", "pipeline_name": pipeline_name, "pipeline_module": "m", "image_name": "i:1",
                "cpu_per_process": 1, "memory_per_process": 1,
                "deployment_template": {}, "container_template": {}, "pipeline_config": {}
            }
        });
        serde_json::from_value(object).expect("a pipeline")
    }

    fn unreadable(name: &str) -> StoredPipeline {
        let object = json!({"metadata": {"name": name, "namespace": "ingest"}, "spec": {"replicas": "many"}});
        serde_json::from_value(object).expect("a pipeline")
    }

    fn list(names: &Names, pipelines: Vec<StoredPipeline>) {
        names.observe(&Event::Init);
        for pipeline in pipelines {
            names.observe(&Event::InitApply(pipeline));
        }
        names.observe(&Event::InitDone);
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    /// Who keeps `ingest/new` from the names of a pipeline called `pipeline_name`.
    fn holder(names: &Names, pipeline_name: &str, seconds: i64) -> Option<String> {
        let new = pipeline("new", pipeline_name);
        let id = id_of(&new);
        let wanted = names.of(&id, &new.spec.read().expect("readable"));
        match names.check(&id, &wanted, at(seconds)) {
            Claim::Free => None,
            Claim::Taken(collision) => Some(collision.holder.name),
            Claim::NotSynced => Some("not synced".to_owned()),
        }
    }

    #[test]
    fn nothing_is_free_before_a_whole_list_was_seen() {
        let names = names();
        assert_eq!(holder(&names, "a", 0).as_deref(), Some("not synced"));
        names.observe(&Event::Init);
        names.observe(&Event::InitApply(pipeline("p", "b")));
        assert_eq!(holder(&names, "a", 0).as_deref(), Some("not synced"));
        names.observe(&Event::InitDone);
        assert_eq!(holder(&names, "a", 0), None);
        assert_eq!(holder(&names, "b", 0).as_deref(), Some("p"));
    }

    #[test]
    fn what_is_gone_from_a_new_list_no_longer_holds_its_names() {
        let names = names();
        list(&names, vec![pipeline("p", "a"), pipeline("q", "b")]);
        list(&names, vec![pipeline("q", "b")]);
        assert_eq!(holder(&names, "a", 0), None);
        assert_eq!(holder(&names, "b", 0).as_deref(), Some("q"));
    }

    #[test]
    fn names_are_held_until_the_pipeline_is_gone() {
        let names = names();
        let mut deleted = pipeline("p", "a");
        deleted.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time"));
        list(&names, vec![deleted.clone()]);
        assert_eq!(holder(&names, "a", 0).as_deref(), Some("p"));
        names.observe(&Event::Delete(deleted));
        assert_eq!(holder(&names, "a", 0), None);
    }

    #[test]
    fn a_pipeline_that_has_become_unreadable_keeps_its_names() {
        let names = names();
        list(&names, vec![pipeline("p", "a")]);
        names.observe(&Event::Apply(unreadable("p")));
        assert_eq!(holder(&names, "a", 0).as_deref(), Some("p"));
        names.observe(&Event::Delete(unreadable("p")));
        assert_eq!(holder(&names, "a", 0), None);
    }

    #[test]
    fn a_reservation_outlives_a_list_and_ends_by_itself() {
        let names = names();
        list(&names, vec![]);
        let reserved = pipeline("p", "a");
        let id = id_of(&reserved);
        let wanted = names.of(&id, &reserved.spec.read().expect("readable"));
        assert_eq!(names.reserve(&id, &wanted, at(0)), Claim::Free);
        list(&names, vec![]);
        assert_eq!(holder(&names, "a", 29).as_deref(), Some("p"));
        assert_eq!(holder(&names, "a", 30), None);
    }

    #[test]
    fn pipelines_of_two_namespaces_share_the_names_of_one_workload_namespace() {
        let own = names();
        let shared = Names::new(Some("work".to_owned()), TTL);
        let mut elsewhere = pipeline("p", "a");
        elsewhere.metadata.namespace = Some("other".to_owned());
        for (names, expected) in [(&own, None), (&shared, Some("p"))] {
            list(names, vec![elsewhere.clone()]);
            assert_eq!(holder(names, "a", 0).as_deref(), expected);
        }
    }
}
