//! What must never happen, judged at the moment of each write, with numbers of their own.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use streaming_operator::api::{
    ConditionStatus, ConditionType, PodReplacementPolicy, Reason, StreamingPipelineStatus, meta,
};
use streaming_operator::core::names::Revision;
use streaming_operator::core::plan::{Decision, DeleteReason, PodDelete, PodPlan};

use crate::cluster::{ANOTHER, Quality, SimPod, quality};
use crate::world::World;

/// Places with a Pod that serves as far as the operator can know. What the kubelet and people did since the last event it
/// cannot; what it deleted itself it must.
fn serving(world: &World) -> impl Iterator<Item = &SimPod> {
    let cached = world
        .cluster
        .cache
        .values()
        .filter(|pod| pod.owner != ANOTHER && pod.is_ready());
    cached.filter(|pod| !world.deleted.contains(&pod.uid))
}

fn total(world: &World) -> usize {
    usize::from(world.spec.total())
}

fn max_unavailable(world: &World) -> usize {
    usize::from(world.spec.max_unavailable).clamp(1, total(world).saturating_sub(1).max(1))
}

fn hands_over(world: &World) -> bool {
    total(world) == 1 && world.spec.policy == PodReplacementPolicy::TerminatingOrFailed
}

/// Below this number of available Pods the operator may not go.
fn floor(world: &World, why: DeleteReason) -> usize {
    let floor = if hands_over(world) {
        1
    } else {
        total(world) - max_unavailable(world).min(total(world))
    };
    if why == DeleteReason::ScaleDown {
        floor.max(total(world).min(1))
    } else {
        floor
    }
}

pub(crate) fn of_delete(world: &World, delete: &PodDelete) {
    assert!(
        !delete.uid.is_empty(),
        "{} is deleted without a precondition",
        delete.name
    );
    if let Some(pod) = world.cluster.pods.get(&delete.name).filter(|pod| pod.uid == delete.uid) {
        assert_ne!(pod.owner, ANOTHER, "a Pod of another owner is deleted: {}", delete.name);
        beside_no_other(world, pod, delete);
    }
    assert!(
        delete.force || !world.deleted.contains(&delete.uid),
        "{} is deleted twice",
        delete.name
    );
    if total(world) == 0 || world.deleting || !serving(world).any(|pod| pod.uid == delete.uid) {
        return;
    }
    let places = |without: &str| {
        let pods = serving(world).filter(|pod| pod.uid != without);
        pods.map(SimPod::place).collect::<BTreeSet<_>>().len()
    };
    let (before, after) = (places(""), places(&delete.uid));
    let floor = floor(world, delete.why);
    assert!(
        after >= floor || after == before,
        "{} goes ({:?}) and leaves {after} available, the floor is {floor}",
        delete.name,
        delete.why
    );
}

/// Of a place no second Pod goes while one is terminating, but where all go.
fn beside_no_other(world: &World, pod: &SimPod, delete: &PodDelete) {
    let all_go = matches!(
        delete.why,
        DeleteReason::Drain | DeleteReason::ScaleDown | DeleteReason::PipelineDeleted
    );
    if all_go || total(world) == 0 || delete.force || pod.is_ended() {
        return;
    }
    let others = world
        .pods()
        .filter(|other| other.place() == pod.place() && other.uid != pod.uid);
    let terminating = others.filter(|other| is_known_to_end(world, other)).count();
    assert_eq!(
        terminating, 0,
        "{} goes ({:?}) beside a terminating one",
        delete.name, delete.why
    );
}

/// Being deleted as far as the operator can know, and not ended.
fn is_known_to_end(world: &World, pod: &SimPod) -> bool {
    let cached = world.cluster.cache.get(&pod.name);
    let shown = cached.is_some_and(|cached| cached.uid == pod.uid && cached.deleted.is_some());
    pod.deleted.is_some() && !pod.is_ended() && (shown || world.deleted.contains(&pod.uid))
}

/// What holds after every step, whoever made it.
pub(crate) fn of_the_world(world: &World) {
    for other in &world.others {
        let there = world.cluster.pods.get(&other.name);
        assert_eq!(there, Some(other), "another's Pod is as it was made");
    }
    let places: BTreeSet<_> = world.pods().map(SimPod::place).collect();
    for place in places {
        of_a_place(world, &place);
    }
}

/// Two live Pods of an ordinal only while one replica is handed or taken over, and what ends beside them.
fn of_a_place(world: &World, place: &(String, String)) {
    let (set, ordinal) = place;
    let here: Vec<&SimPod> = world.pods().filter(|pod| pod.place() == *place).collect();
    let live = here.iter().filter(|pod| pod.is_live()).count();
    let ending = || here.iter().filter(|pod| pod.deleted.is_some() && !pod.is_ended());
    let only_one = world.spec.policy == PodReplacementPolicy::Failed;
    let first_primary = set == "primary" && ordinal == "0";
    let most = if first_primary && !only_one { 2 } else { 1 };
    assert!(live <= most, "{live} live Pods of {set} {ordinal}");
    // A scale up ends a hand-over: when nothing is left to do two stay only where another has yet to end.
    assert!(
        live < 2 || total(world) <= 1 || !world.seen || ending().count() > 0,
        "{live} live Pods of {set} {ordinal} stay, and {} are wanted",
        total(world)
    );
    if live == 0 {
        return;
    }
    // (people delete as many as they like; where all went, they were all let go at once)
    let replaced = |why: &DeleteReason| {
        !matches!(
            why,
            DeleteReason::Drain | DeleteReason::ScaleDown | DeleteReason::PipelineDeleted
        )
    };
    let by_us = ending().filter(|pod| world.deleted_for.get(&pod.uid).is_some_and(replaced));
    let by_us = by_us.count();
    let most = usize::from(!only_one);
    assert!(
        by_us <= most,
        "{by_us} terminating Pods of {set} {ordinal} beside a live one"
    );
    assert!(
        !only_one || ending().count() == 0,
        "policy Failed: a live Pod of {set} {ordinal} beside a terminating one"
    );
}

pub(crate) fn of_create(world: &World, plan: &PodPlan, decision: &Decision) {
    let set = plan.set.to_string();
    let ordinal = plan.name.ordinal.to_string();
    let here: Vec<_> = world
        .pods()
        .filter(|pod| pod.set == set && pod.ordinal == ordinal)
        .collect();
    let name = plan.name.to_string();
    if here.iter().any(|pod| pod.name == name) {
        return; // sent again after a lost answer
    }
    let live = here.iter().filter(|pod| pod.is_live()).count();
    assert!(
        live <= usize::from(hands_over(world)),
        "{name} is made beside {live} live Pods"
    );
    // (one that a person deleted a moment ago it cannot know of)
    let terminating = here.iter().filter(|pod| is_known_to_end(world, pod)).count();
    match world.spec.policy {
        PodReplacementPolicy::Failed => assert_eq!(terminating, 0, "{name} is made beside a terminating Pod"),
        PodReplacementPolicy::TerminatingOrFailed => {
            assert!(terminating <= 1, "{name} beside {terminating} terminating");
        }
    }
    let all = world.pods().filter(|pod| pod.is_live()).count();
    let most = total(world) + usize::from(total(world) == 1);
    assert!(
        all < most,
        "{name} is made beside {all} live Pods, {} are wanted",
        total(world)
    );
    let map = format!("svc-{}", plan.revision.as_str().chars().next().expect("ten digits"));
    assert!(
        is_ours(world, world.cluster.config_maps.get(&map)),
        "{name} is made before its ConfigMap {map}"
    );
    assert!(
        is_ours(world, world.cluster.revisions.get(&format!("svc-{}", plan.revision))),
        "{name} is made before its ControllerRevision"
    );
    broken_takes_few(world, plan, decision);
}

fn is_ours(world: &World, object: Option<&ObjectMeta>) -> bool {
    let labels = object.and_then(|object| object.labels.as_ref());
    labels.and_then(|labels| labels.get(meta::LABEL_OWNER_UID)) == Some(&world.uid)
}

/// A revision that does not work takes no more than `maxUnavailable` places while there is one to return to.
fn broken_takes_few(world: &World, plan: &PodPlan, decision: &Decision) {
    let revision = plan.revision.as_str();
    let current = decision.facts.current_revision.as_ref();
    if quality(revision) == Quality::Good || current.is_none_or(|current| current.as_str() == revision) {
        return;
    }
    let of_it = |pod: &&SimPod| pod.owner == world.uid && pod.revision == revision && pod.deleted.is_none();
    let mut places: BTreeSet<_> = world.pods().filter(of_it).map(SimPod::place).collect();
    places.insert((plan.set.to_string(), plan.name.ordinal.to_string()));
    let most = max_unavailable(world);
    assert!(
        places.len() <= most,
        "the broken revision {revision} takes {} places, at most {most}",
        places.len()
    );
}

/// A crash after this write must find the facts that allowed it.
pub(crate) fn of_any_pod_write(world: &World, decision: &Decision) {
    let (facts, status) = (&decision.facts, &world.status);
    let rollout = status.rollout.clone().unwrap_or_default();
    let words = |revision: &Option<Revision>| revision.as_ref().map(ToString::to_string);
    assert_eq!(
        status.observed_generation,
        Some(world.generation),
        "the generation is not recorded yet"
    );
    assert_eq!(
        status.update_revision,
        words(&facts.update_revision),
        "the update revision is not recorded yet"
    );
    assert_eq!(
        status.current_revision,
        words(&facts.current_revision),
        "the current revision is not recorded yet"
    );
    assert_eq!(
        rollout.gate_opened_for,
        words(&facts.gate_opened_for),
        "the gate is not recorded yet"
    );
    let failed = facts.failed.as_ref().map(|failed| failed.revision.to_string());
    assert_eq!(
        rollout.failed_revision.map(|failed| failed.name),
        failed,
        "the failure is not recorded yet"
    );
}

pub(crate) fn of_config_map(world: &World, name: &str) {
    let digit = name.chars().last().expect("a name");
    let ours = is_ours(world, world.cluster.config_maps.get(name)) && !world.deleting;
    let used = ours
        && world
            .pods()
            .any(|pod| pod.owner == world.uid && pod.revision.starts_with(digit));
    assert!(!used, "ConfigMap {name} is deleted while a Pod mounts it");
}

pub(crate) fn of_status(world: &World, status: &StreamingPipelineStatus) {
    if let Some(current) = status.current_revision.as_deref() {
        assert_eq!(
            quality(current),
            Quality::Good,
            "the broken revision {current} became current"
        );
    }
    let condition = |type_: &str| {
        let found = status.conditions.iter().find(|condition| condition.type_ == type_);
        found.unwrap_or_else(|| panic!("condition {type_} is missing"))
    };
    assert_eq!(status.conditions.len(), 8);
    assert_eq!(status.observed_generation, Some(world.generation));
    is_as_documented(status);
    let holds = |type_| condition(type_).status == "True";
    let (ready, reconciling, stalled) = (holds("Ready"), holds("Reconciling"), holds("Stalled"));
    let exactly_one = usize::from(ready) + usize::from(reconciling) + usize::from(stalled) == 1;
    assert!(
        exactly_one,
        "Ready {ready}, Reconciling {reconciling}, Stalled {stalled}"
    );
    assert!(!ready || holds("Available"), "Ready and not Available");
    assert!(!ready || !holds("RolloutPaused"), "Ready and held");
    assert!(
        !(ready && condition("Progressing").status != "True"),
        "Ready and not Progressing"
    );
    assert!(
        !(ready && status.available_replicas != i32::from(world.spec.total())),
        "Ready without its Pods"
    );
}

/// docs/reasons.md names every condition that a reason is found on.
fn is_as_documented(status: &StreamingPipelineStatus) {
    for said in &status.conditions {
        let reason = Reason::ALL.iter().find(|reason| reason.as_str() == said.reason);
        let reason = reason.unwrap_or_else(|| panic!("no such reason: {said:?}"));
        let on = |(type_, status): &(ConditionType, ConditionStatus)| {
            type_.as_str() == said.type_ && status.as_str() == said.status
        };
        assert!(
            reason.page().on.iter().any(on),
            "the page of {reason} does not name this: {said:?}"
        );
    }
}
