//! ConfigMaps and ControllerRevisions: which are made before the first Pod that needs them, and which are kept.
//!
//! Must never delete one that a Pod mounts or a kept revision refers to, nor one that is not the pipeline's, but for a
//! predecessor's under a name that is needed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::core::names::Revision;
use crate::core::observed::{ObjectFacts, Observed, Owner};

use super::decision::{Action, ObjectReason, PodPlan};
use super::facts::Facts;
use super::wanted::Wanted;

/// What is made before the Pods, in order: the ControllerRevision of the spec's revision, then the ConfigMaps of it and
/// of the current one, and of every revision of which a Pod is planned.
pub(super) fn before_pods(wanted: &Wanted, facts: &Facts, observed: &Observed, pods: &[Action]) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(revision) = wanted
        .revision
        .as_ref()
        .filter(|revision| observed.stored(revision).is_none())
    {
        let name = revision_name(wanted, revision);
        let theirs = observed
            .revisions
            .iter()
            .filter(|object| object.owner == Owner::Predecessor && object.name == name);
        actions.extend(theirs.map(|object| delete_revision(object, ObjectReason::Predecessor)));
        actions.push(Action::CreateRevision {
            revision: revision.clone(),
            name,
        });
    }
    let planned: BTreeSet<&Revision> = pods.iter().filter_map(pod_plan).map(|plan| &plan.revision).collect();
    let of_facts = [&facts.update_revision, &facts.current_revision].into_iter().flatten();
    let needed: BTreeSet<&Revision> = of_facts.chain(planned.iter().copied()).collect();
    let mut named = BTreeSet::new();
    for revision in needed {
        let Some(name) = config_map_of(wanted, observed, revision) else {
            continue;
        };
        if named.insert(name.clone()) {
            config_map(&mut actions, observed, revision, &name, planned.contains(revision));
        }
    }
    actions
}

/// Makes a ConfigMap that is not there. A predecessor's in its place is immutable, and Pods may still mount it; it goes
/// only when a Pod of ours is about to.
fn config_map(actions: &mut Vec<Action>, observed: &Observed, revision: &Revision, name: &str, mounted_now: bool) {
    let there: Vec<_> = observed
        .config_maps
        .iter()
        .filter(|object| object.name == name)
        .collect();
    if there
        .iter()
        .any(|object| object.owner == Owner::Ours && !object.deleting)
    {
        return;
    }
    let theirs: Vec<_> = there
        .into_iter()
        .filter(|object| object.owner == Owner::Predecessor)
        .collect();
    if !theirs.is_empty() && !mounted_now {
        return;
    }
    actions.extend(
        theirs
            .into_iter()
            .map(|object| delete_config_map(object, ObjectReason::Predecessor)),
    );
    actions.push(Action::CreateConfigMap {
        revision: revision.clone(),
        name: name.to_owned(),
    });
}

/// Name of the ConfigMap that Pods of a revision mount; `None` when nothing says so.
fn config_map_of(wanted: &Wanted, observed: &Observed, revision: &Revision) -> Option<String> {
    // What is stored comes first: a later release might name it otherwise, and the stored template mounts this one.
    let stored = observed.stored(revision).and_then(|object| object.config_map.clone());
    stored.or_else(|| {
        wanted
            .config_map
            .clone()
            .filter(|_| wanted.revision.as_ref() == Some(revision))
    })
}

/// Name of the ControllerRevision of a revision.
fn revision_name(wanted: &Wanted, revision: &Revision) -> String {
    format!("{}-{revision}", wanted.primary)
}

/// The mark on the ControllerRevision of the current revision that it completed, later than all others.
pub(super) fn mark_completed(facts: &Facts, observed: &Observed, now: Timestamp) -> Option<Action> {
    let revision = facts.current_revision.as_ref()?;
    let stored = observed.stored(revision)?;
    let ours = observed.revisions.iter().filter(|object| object.owner == Owner::Ours);
    let latest = ours
        .filter(|object| object.uid != stored.uid)
        .filter_map(|object| object.completed)
        .max();
    let marked = stored.completed.is_some() && stored.completed > latest;
    (!marked).then(|| Action::MarkCompleted {
        name: stored.name.clone(),
        revision: revision.clone(),
        at: now,
    })
}

/// What nothing refers to any more. Kept are the spec's and the current revision, that of every Pod, and the latest of
/// the others up to the history limit; and the ConfigMaps of all these.
pub(super) fn unused(wanted: &Wanted, facts: &Facts, observed: &Observed, pods: &[Action]) -> Vec<Action> {
    let of_facts = [&facts.update_revision, &facts.current_revision]
        .into_iter()
        .flatten()
        .cloned();
    let of_pods = observed
        .pods
        .iter()
        .filter(|pod| pod.owner == Owner::Ours)
        .filter_map(|pod| pod.revision.clone());
    let planned = pods.iter().filter_map(pod_plan).map(|plan| plan.revision.clone());
    let in_use: BTreeSet<Revision> = of_facts.chain(of_pods).chain(planned).collect();
    let is_used = |object: &ObjectFacts| {
        object
            .revision
            .as_ref()
            .is_some_and(|revision| in_use.contains(revision))
    };

    let (used, mut others): (Vec<_>, Vec<_>) = observed
        .revisions
        .iter()
        .filter(|object| object.owner == Owner::Ours && !object.deleting)
        .partition(|object| is_used(object));
    others.sort_by_key(|object| (object.completed.unwrap_or(object.created), &object.uid));
    let old = others.len().saturating_sub(wanted.history_limit);
    let history = others.split_off(old);

    let kept: Vec<_> = used.into_iter().chain(history).collect();
    let mut names: BTreeSet<&str> = kept.iter().filter_map(|object| object.config_map.as_deref()).collect();
    names.extend(wanted.config_map.as_deref());
    names.extend(
        observed
            .pods
            .iter()
            .flat_map(|pod| pod.config_maps.iter().map(String::as_str)),
    );
    let is_kept = |map: &ObjectFacts| {
        // The label names the revision it was made for; another with the same config shares it by name.
        names.contains(map.name.as_str()) || is_used(map) || kept.iter().any(|object| object.revision == map.revision)
    };
    let maps = observed
        .config_maps
        .iter()
        .filter(|map| map.owner == Owner::Ours && !map.deleting && !is_kept(map));
    let maps = maps.map(|map| delete_config_map(map, ObjectReason::Unused));
    others
        .into_iter()
        .map(|object| delete_revision(object, ObjectReason::Unused))
        .chain(maps)
        .collect()
}

pub(super) fn delete_config_map(object: &ObjectFacts, why: ObjectReason) -> Action {
    Action::DeleteConfigMap {
        name: object.name.clone(),
        uid: object.uid.clone(),
        why,
    }
}

fn delete_revision(object: &ObjectFacts, why: ObjectReason) -> Action {
    Action::DeleteRevision {
        name: object.name.clone(),
        uid: object.uid.clone(),
        why,
    }
}

fn pod_plan(action: &Action) -> Option<&PodPlan> {
    match action {
        Action::CreatePod(plan) | Action::DryRunPod(plan) => Some(plan),
        _ => None,
    }
}
