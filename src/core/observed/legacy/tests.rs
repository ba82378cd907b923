use k8s_openapi::api::apps::v1::DeploymentSpec;
use k8s_openapi::api::core::v1::{PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};

use super::*;
use crate::core::plan::fixtures::{at, legacy_deployment};

const GRACE: SignedDuration = SignedDuration::from_secs(90);

fn pod_of(replica_set: &str, hash: &str, ready: bool, terminating: bool) -> Pod {
    let owner = OwnerReference {
        kind: "ReplicaSet".to_owned(),
        name: replica_set.to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    let condition = PodCondition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(Time(at(0))),
        ..PodCondition::default()
    };
    Pod {
        metadata: ObjectMeta {
            labels: Some([(POD_TEMPLATE_HASH.to_owned(), hash.to_owned())].into()),
            owner_references: Some(vec![owner]),
            deletion_timestamp: terminating.then(|| Time(at(9))),
            ..ObjectMeta::default()
        },
        status: Some(PodStatus {
            phase: Some("Running".to_owned()),
            conditions: ready.then(|| vec![condition]),
            ..PodStatus::default()
        }),
        ..Pod::default()
    }
}

fn deployment(annotations: &[(&str, &str)]) -> Deployment {
    let pairs = annotations
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Deployment {
        metadata: ObjectMeta {
            name: Some("svc".to_owned()),
            namespace: Some("old".to_owned()),
            uid: Some("uid".to_owned()),
            resource_version: Some("7".to_owned()),
            annotations: Some(pairs.collect()),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(3),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn read(deployment: &Deployment, pods: &[Pod]) -> LegacyDeployment {
    LegacyDeployment::read(deployment, pods, SignedDuration::from_secs(10), at(60)).expect("a stored Deployment")
}

#[test]
fn pods_are_told_from_those_of_a_deployment_with_the_same_selector() {
    let pods = [
        pod_of("svc-5d4f", "5d4f", true, false),
        pod_of("svc-77aa", "77aa", false, false),
        pod_of("svc-5d4f", "5d4f", true, true),
        pod_of("svc-1-5d4f", "5d4f", true, false),
        Pod::default(),
    ];
    let facts = read(&deployment(&[]), &pods);
    assert_eq!(
        (facts.given, facts.available, facts.unavailable, facts.terminating),
        (3, 1, 1, 1)
    );
}

#[test]
fn a_young_pod_is_available_after_min_ready_seconds() {
    let pods = [pod_of("svc-5d4f", "5d4f", true, false)];
    let read = |second| LegacyDeployment::read(&deployment(&[]), &pods, SignedDuration::from_secs(10), at(second));
    let young = read(5).expect("a stored Deployment");
    assert_eq!((young.available, young.available_at), (0, Some(at(10))));
    assert_eq!(read(10).expect("a stored Deployment").available, 1);
}

#[test]
fn one_that_is_being_deleted_is_to_have_no_pods() {
    let mut object = deployment(&[]);
    object.metadata.deletion_timestamp = Some(Time(at(0)));
    assert_eq!(read(&object, &[]).given, 0);
}

#[test]
fn what_stands_on_it_says_whether_it_is_left_to_this_operator() {
    let claimed = at(0).to_string();
    let again = format!("{claimed} again");
    let of = |annotations: &[(&str, &str)], second| read(&deployment(annotations), &[]).claim(GRACE, at(second));
    let (wrote, since) = (meta::ANNOTATION_LEGACY_REPLICAS, meta::ANNOTATION_LEGACY_CLAIMED);
    assert_eq!(of(&[(meta::ANNOTATION_LEGACY_OWNER_NAME, "p")], 100), Claim::Due);
    let until = at(90);
    let quiet = |again| Claim::Settling { until, again };
    assert_eq!(of(&[(wrote, "3"), (since, &claimed)], 89), quiet(false));
    assert_eq!(of(&[(wrote, "3"), (since, &again)], 89), quiet(true));
    assert_eq!(of(&[(wrote, "3"), (since, &claimed)], 90), Claim::Held);
    let contested = Claim::Contested { again: until };
    assert_eq!(of(&[(wrote, "2"), (since, &claimed)], 100), contested);
    let applied = [
        (wrote, "3"),
        (since, claimed.as_str()),
        (meta::ANNOTATION_LEGACY_OWNER_NAME, "p"),
    ];
    assert_eq!(of(&applied, 100), contested);
}

#[test]
fn of_several_deployments_the_one_that_is_contested_decides() {
    let mut contested = legacy_deployment(2);
    contested.applied = true;
    let legacy = Legacy {
        deployments: vec![legacy_deployment(1), contested],
        ..Legacy::default()
    };
    assert!(matches!(legacy.claim(GRACE, at(0)), Claim::Contested { .. }));
    let told = legacy.other_operator(GRACE, at(0)).expect("a reason");
    assert!(
        told.starts_with("Deployment ns/legacy was applied again after "),
        "{told}"
    );
}

#[test]
fn marks_are_the_finalizers_and_annotations_of_the_framework() {
    let with = |finalizer: &str, annotation: &str| {
        Legacy::marks(&ObjectMeta {
            finalizers: Some(vec![finalizer.to_owned()]),
            annotations: Some([(annotation.to_owned(), String::new())].into()),
            ..ObjectMeta::default()
        })
    };
    assert!(with("kopf.zalando.org/KopfFinalizerMarker", "a"));
    assert!(with(
        "streams.sentry.io/cleanup",
        "kopf.zalando.org/last-handled-configuration"
    ));
    assert!(!with("streams.sentry.io/cleanup", "a"));
}
