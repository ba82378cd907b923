use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, PodCondition, PodSpec, PodStatus, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::core::plan::fixtures::{at, pipeline, revision, wanted};
use crate::core::plan::{ActionResult, CreateReason, DeleteReason, PodDelete, PodPlan};

fn strings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// A Pod of `owner`, Ready since second 0.
fn pod(name: &str, owner: &str) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some(format!("uid-of-{name}")),
            creation_timestamp: Some(Time(at(-5))),
            labels: Some(strings(&[
                ("streams.sentry.io/owner-uid", owner),
                ("streams.sentry.io/workload-set", "primary"),
                ("streams.sentry.io/ordinal", "0"),
                ("streams.sentry.io/generation", "0"),
                ("streams.sentry.io/revision", "aaaaaaaaaa"),
            ])),
            annotations: Some(strings(&[
                ("streams.sentry.io/owner-name", "pipeline"),
                ("streams.sentry.io/owner-namespace", "ns"),
                ("streams.sentry.io/failures", "3"),
            ])),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            volumes: Some(vec![Volume {
                name: "pipeline-config".to_owned(),
                config_map: Some(ConfigMapVolumeSource {
                    name: "svc-a".to_owned(),
                    ..ConfigMapVolumeSource::default()
                }),
                ..Volume::default()
            }]),
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            phase: Some("Running".to_owned()),
            conditions: Some(vec![PodCondition {
                type_: "Ready".to_owned(),
                status: "True".to_owned(),
                last_transition_time: Some(Time(at(0))),
                ..PodCondition::default()
            }]),
            ..PodStatus::default()
        }),
    }
}

fn observe(pods: &[Pod], ledger: &Ledger, second: i64) -> Observed {
    observe_for(PodReplacementPolicy::TerminatingOrFailed, pods, ledger, second)
}

fn observe_for(policy: PodReplacementPolicy, pods: &[Pod], ledger: &Ledger, second: i64) -> Observed {
    let gathered = Gathered {
        pods: pods.iter().collect(),
        config_maps: Vec::new(),
        revisions: Vec::new(),
        live_owners: BTreeSet::from(["alive".to_owned()]),
        collision: None,
        namespace: NamespaceState::Active,
    };
    let wanted = wanted(2)
        .policy(policy)
        .with(|wanted| wanted.min_ready = jiff::SignedDuration::from_secs(30))
        .build();
    Observed::new(
        &pipeline(),
        Some(&wanted),
        &gathered,
        ledger,
        &Settings::default(),
        at(second),
    )
}

fn plan(name: &str) -> PodPlan {
    PodPlan {
        name: PodName::parse(name).expect("a Pod name"),
        set: crate::core::names::WorkloadSet::Primary,
        revision: revision('a'),
        failures: 2,
        why: CreateReason::Missing,
        replaces: None,
    }
}

fn states(observed: &Observed) -> Vec<(&str, PodState, bool)> {
    observed
        .pods
        .iter()
        .map(|pod| (pod.name.as_str(), pod.state, pod.is_available()))
        .collect()
}

#[test]
fn whose_a_pod_is_its_owner_uid_says_and_a_dead_owner_of_our_name_is_a_predecessor() {
    let mut nameless = pod("svc-3-0", "dead");
    nameless.metadata.annotations = None;
    let pods = [
        pod("svc-0-0", "uid"),
        pod("svc-1-0", "dead"),
        pod("svc-2-0", "alive"),
        nameless,
    ];
    let observed = observe(&pods, &Ledger::default(), 60);
    let owners: Vec<_> = observed.pods.iter().map(|pod| (pod.name.as_str(), pod.owner)).collect();
    assert_eq!(owners, [("svc-0-0", Owner::Ours), ("svc-1-0", Owner::Predecessor)]);
    let words = |names: &BTreeSet<PodName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(words(&observed.names), ["svc-0-0", "svc-1-0", "svc-2-0"]);
    assert_eq!(words(&observed.in_the_way), ["svc-3-0"], "nobody answers for it");
}

#[test]
fn a_pod_that_nobody_answers_for_and_that_is_being_deleted_is_in_the_way_only_of_what_must_run_alone() {
    let mut leaving = pod("svc-0-0", "dead");
    leaving.metadata.annotations = None;
    leaving.metadata.deletion_timestamp = Some(Time(at(50)));
    let pods = [leaving];
    let in_the_way = |policy| observe_for(policy, &pods, &Ledger::default(), 60).in_the_way.len();
    assert_eq!(in_the_way(PodReplacementPolicy::TerminatingOrFailed), 0);
    assert_eq!(in_the_way(PodReplacementPolicy::Failed), 1);
}

#[test]
fn a_pod_is_available_once_it_was_ready_for_long_enough() {
    let early = observe(&[pod("svc-0-0", "uid")], &Ledger::default(), 29);
    assert_eq!(
        (early.pods[0].available_since, early.pods[0].available_at),
        (None, Some(at(30)))
    );
    let then = observe(&[pod("svc-0-0", "uid")], &Ledger::default(), 30);
    assert_eq!(
        (then.pods[0].available_since, then.pods[0].available_at),
        (Some(at(30)), None)
    );
}

#[test]
fn a_pod_that_is_ready_by_a_clock_that_is_ahead_has_been_so_from_now_on() {
    let ahead = observe(&[pod("svc-0-0", "uid")], &Ledger::default(), -3);
    assert_eq!(
        (ahead.pods[0].available_since, ahead.pods[0].available_at),
        (None, Some(at(27)))
    );
}

#[test]
fn what_stands_on_a_pod_is_read_and_what_cannot_be_read_is_absent() {
    let mut odd = pod("svc-1-0", "uid");
    odd.metadata.labels = Some(strings(&[
        ("streams.sentry.io/owner-uid", "uid"),
        ("streams.sentry.io/ordinal", "01"),
        ("streams.sentry.io/revision", "latest"),
    ]));
    odd.metadata.annotations = Some(strings(&[("streams.sentry.io/failures", "many")]));
    let observed = observe(&[pod("svc-0-0", "uid"), odd], &Ledger::default(), 60);
    let good = &observed.pods[0];
    assert_eq!((good.failures, good.revision.clone()), (3, Some(revision('a'))));
    assert_eq!(good.config_maps, BTreeSet::from(["svc-a".to_owned()]));
    let odd = &observed.pods[1];
    assert_eq!((odd.place, odd.revision.clone(), odd.failures), (None, None, 0));
}

#[test]
fn an_ended_pod_that_is_being_deleted_is_as_good_as_gone() {
    let mut ended = pod("svc-0-0", "uid");
    ended.metadata.deletion_timestamp = Some(Time(at(50)));
    ended.status.get_or_insert_default().phase = Some("Failed".to_owned());
    let mut ending = pod("svc-0-1", "uid");
    ending.metadata.deletion_timestamp = Some(Time(at(50)));
    let observed = observe(&[ended, ending], &Ledger::default(), 60);
    assert_eq!(
        states(&observed),
        [
            ("svc-0-0", PodState::Gone, false),
            ("svc-0-1", PodState::Terminating, false)
        ]
    );
}

#[test]
fn own_writes_count_until_the_cache_shows_them() {
    let mut ledger = Ledger::default();
    ledger.creating(&plan("svc-1-0"), at(50));
    ledger.created("svc-1-0", "new");
    ledger.deleting("uid-of-svc-0-0");
    let observed = observe(&[pod("svc-0-0", "uid")], &ledger, 60);
    assert_eq!(
        states(&observed),
        [
            ("svc-0-0", PodState::Terminating, false),
            ("svc-1-0", PodState::Live, false)
        ]
    );
    assert_eq!((observed.pods[1].uid.as_str(), observed.pods[1].failures), ("new", 2));
}

#[test]
fn a_pod_made_and_deleted_before_the_cache_showed_it_counts_as_terminating() {
    let mut ledger = Ledger::default();
    ledger.creating(&plan("svc-1-0"), at(50));
    ledger.created("svc-1-0", "new");
    ledger.deleting("new");
    assert_eq!(
        states(&observe(&[], &ledger, 60)),
        [("svc-1-0", PodState::Terminating, false)]
    );
}

#[test]
fn what_was_done_is_seen_as_done_and_what_was_refused_is_not() {
    let before = observe(&[pod("svc-0-0", "uid")], &Ledger::default(), 60);
    let delete = Action::DeletePod(PodDelete {
        name: "svc-0-0".to_owned(),
        uid: "uid-of-svc-0-0".to_owned(),
        why: DeleteReason::OutdatedRevision,
        force: false,
    });
    let refused = ActionResult::Refused {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "no".to_owned(),
    };
    let outcome = Outcome {
        results: vec![
            (delete, ActionResult::Done),
            (Action::CreatePod(plan("svc-0-1")), ActionResult::AlreadyOurs),
            (Action::CreatePod(plan("svc-1-0")), refused),
        ],
    };
    let after = before.after(&outcome, at(61));
    assert_eq!(
        states(&after),
        [
            ("svc-0-0", PodState::Terminating, false),
            ("svc-0-1", PodState::Live, false)
        ]
    );
}
