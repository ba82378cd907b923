//! A table of findings, and the limits of a sweep.

use serde_json::json;

use super::*;
use crate::api::stored::decode_spec;

const OWNER_UID: &str = "11111111-0000-4000-8000-000000000000";

fn owner() -> PipelineId {
    PipelineId {
        namespace: "ingest".to_owned(),
        name: "checkout".to_owned(),
    }
}

fn object(kind: ManagedKind, name: &str) -> Managed {
    Managed {
        kind,
        namespace: "consumers".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        owner_uid: Some(OWNER_UID.to_owned()),
        owner: Some(owner()),
    }
}

fn pod() -> Managed {
    object(ManagedKind::Pod, "svc-pipeline-checkout-0-1-4")
}

/// The names of a pipeline `checkout` of this service.
fn names(service: &str) -> NameSet {
    let spec = decode_spec(&json!({
        "service_name": service, "pipeline_module": "m", "image_name": "i", "cpu_per_process": 1,
        "memory_per_process": 1, "deployment_template": {}, "container_template": {}, "pipeline_config": {},
    }));
    NameSet::of("consumers", "checkout", &spec.expect("a spec"))
}

fn facts(found: OwnerFound) -> Facts {
    Facts {
        owners: BTreeMap::from([(owner(), found)]),
        ..Facts::default()
    }
}

fn lives(uid: &str, names: Option<NameSet>) -> Facts {
    facts(OwnerFound::Lives {
        uid: uid.to_owned(),
        names,
    })
}

#[test]
fn a_pod_whose_pipeline_is_gone_is_an_orphan() {
    assert_eq!(judge(&pod(), &facts(OwnerFound::Gone)), Finding::Orphan);
    let config_map = object(ManagedKind::ConfigMap, "svc-pipeline-checkout-0-0a1b2c3d4e");
    assert_eq!(judge(&config_map, &facts(OwnerFound::Gone)), Finding::Orphan);
}

#[test]
fn what_has_a_living_owner_is_none() {
    assert_eq!(judge(&pod(), &lives(OWNER_UID, Some(names("svc")))), Finding::Owned);
    assert_eq!(judge(&pod(), &lives(OWNER_UID, None)), Finding::Owned);
}

#[test]
fn what_a_new_pipeline_of_the_name_replaces_within_its_budget_is_left_to_it() {
    let another = lives("another", Some(names("svc")));
    assert_eq!(judge(&pod(), &another), Finding::Predecessor);
    let config_map = object(ManagedKind::ConfigMap, "anything-0a1b2c3d4e");
    assert_eq!(judge(&config_map, &another), Finding::Predecessor);
}

#[test]
fn a_pod_that_the_new_pipeline_of_the_name_would_never_look_at_is_an_orphan() {
    assert_eq!(judge(&pod(), &lives("another", Some(names("other")))), Finding::Orphan);
}

#[test]
fn what_could_not_be_asked_is_kept() {
    let kept = |facts: &Facts| matches!(judge(&pod(), facts), Finding::Unknown(_));
    assert!(kept(&Facts::default()), "nobody asked");
    assert!(kept(&facts(OwnerFound::Unknown("403".to_owned()))));
    assert!(kept(&lives("another", None)), "an unreadable spec");
    let without_crd = Facts {
        crd_fault: Some("not Established".to_owned()),
        ..facts(OwnerFound::Gone)
    };
    assert!(kept(&without_crd), "a missing CRD makes every pipeline look gone");
}

#[test]
fn what_does_not_say_whose_it_is_is_kept() {
    let gone = facts(OwnerFound::Gone);
    let nameless = Managed { owner: None, ..pod() };
    assert_eq!(judge(&nameless, &gone), Finding::Unnamed);
    let without_uid = Managed {
        owner_uid: None,
        ..pod()
    };
    assert_eq!(judge(&without_uid, &gone), Finding::Unnamed);
}

#[test]
fn what_belongs_to_a_namespace_that_is_not_watched_is_kept() {
    let elsewhere = Facts {
        watch_namespaces: BTreeSet::from(["metrics".to_owned()]),
        ..facts(OwnerFound::Gone)
    };
    assert_eq!(judge(&pod(), &elsewhere), Finding::Unwatched);
}

const GRACE: SignedDuration = SignedDuration::from_secs(300);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn orphans(kind: ManagedKind, number: usize) -> Vec<(Managed, Finding)> {
    let object = |n| (object(kind, &format!("o-{n}")), Finding::Orphan);
    (0..number).map(object).collect()
}

/// Two sweeps with the same findings, a grace apart: the second.
fn second_sweep(findings: &[(Managed, Finding)], managed_pods: usize) -> Sweep {
    let first = sweep(findings, &Since::default(), managed_pods, GRACE, at(0));
    assert_eq!(
        (first.remove.len(), first.refused.len()),
        (0, 0),
        "the first only notes"
    );
    sweep(findings, &first.since, managed_pods, GRACE, at(300))
}

#[test]
fn an_orphan_goes_when_it_was_one_a_grace_before() {
    let found = orphans(ManagedKind::Pod, 1);
    assert_eq!(second_sweep(&found, 10).remove, [found[0].0.clone()]);
    let first = sweep(&found, &Since::default(), 10, GRACE, at(0));
    assert!(
        sweep(&found, &first.since, 10, GRACE, at(299)).remove.is_empty(),
        "too early"
    );
}

#[test]
fn a_sweep_in_between_that_could_not_ask_begins_anew() {
    let found = orphans(ManagedKind::Pod, 1);
    let first = sweep(&found, &Since::default(), 10, GRACE, at(0));
    let unknown = [(found[0].0.clone(), Finding::Unknown("403".to_owned()))];
    let second = sweep(&unknown, &first.since, 10, GRACE, at(300));
    assert!(second.remove.is_empty());
    assert!(sweep(&found, &second.since, 10, GRACE, at(600)).remove.is_empty());
}

#[test]
fn another_object_of_the_same_name_begins_anew() {
    let mut found = orphans(ManagedKind::Pod, 1);
    let first = sweep(&found, &Since::default(), 10, GRACE, at(0));
    found[0].0.uid = "made again".to_owned();
    assert!(sweep(&found, &first.since, 10, GRACE, at(300)).remove.is_empty());
}

#[test]
fn more_than_ten_pods_or_more_than_a_tenth_of_all_are_left_to_a_person() {
    for (pods, managed, removed, refused) in [
        (10, 100, 10, 0),
        (11, 1000, 0, 11),
        (10, 99, 0, 10),
        (1, 10, 1, 0),
        (1, 9, 0, 1),
    ] {
        let swept = second_sweep(&orphans(ManagedKind::Pod, pods), managed);
        let counts = (swept.remove.len(), swept.refused.len());
        assert_eq!(counts, (removed, refused), "{pods} of {managed}");
    }
}

#[test]
fn config_maps_do_not_count_but_wait_with_the_pods() {
    let config_maps = orphans(ManagedKind::ConfigMap, 30);
    assert_eq!(second_sweep(&config_maps, 0).remove.len(), 30);
    let both = [config_maps, orphans(ManagedKind::Pod, 11)].concat();
    let swept = second_sweep(&both, 1000);
    assert_eq!((swept.remove.len(), swept.refused.len()), (0, 41));
}
