use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentSpec, DeploymentStatus, ReplicaSetSpec};
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
    LegacyDeployment::read(deployment, pods, &[], SignedDuration::from_secs(10), at(60)).expect("a stored Deployment")
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
    let read = |second| LegacyDeployment::read(&deployment(&[]), &pods, &[], SignedDuration::from_secs(10), at(second));
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

/// A `ReplicaSet` of the Deployment `svc`.
fn set(hash: &str, revision: &str, replicas: i32) -> ReplicaSet {
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("svc-{hash}")),
            annotations: Some([("deployment.kubernetes.io/revision".to_owned(), revision.to_owned())].into()),
            owner_references: Some(vec![OwnerReference {
                uid: "uid".to_owned(),
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(replicas),
            ..ReplicaSetSpec::default()
        }),
        ..ReplicaSet::default()
    }
}

/// `svc` with so many Pods, of which so many are of its template; it last got on at `at(20)`.
fn updating(all: i32, updated: i32) -> Deployment {
    let progressing = DeploymentCondition {
        type_: "Progressing".to_owned(),
        last_update_time: Some(Time(at(20))),
        ..DeploymentCondition::default()
    };
    Deployment {
        status: Some(DeploymentStatus {
            replicas: Some(all),
            updated_replicas: Some(updated),
            conditions: Some(vec![progressing]),
            ..DeploymentStatus::default()
        }),
        ..deployment(&[])
    }
}

#[test]
fn a_rolling_update_is_told_from_the_status_and_the_pods_that_serve_from_their_sets() {
    let pods = [
        pod_of("svc-aa", "aa", true, false),
        pod_of("svc-bb", "bb", true, false),
        pod_of("svc-bb", "bb", true, false),
        pod_of("svc-cc", "cc", false, false),
    ];
    let sets = [set("aa", "9", 1), set("bb", "10", 2), set("cc", "11", 1)];
    let read = |object: &Deployment, sets: &[ReplicaSet]| {
        LegacyDeployment::read(object, &pods, sets, SignedDuration::ZERO, at(60)).expect("a stored Deployment")
    };
    assert_eq!(read(&updating(4, 4), &sets).rolling, None);
    let rolling = read(&updating(4, 1), &sets).rolling.expect("an update");
    assert_eq!(
        (rolling.back_to.as_deref(), rolling.progressed),
        (Some("svc-bb"), Some(at(20)))
    );
    // That of its own template is none to go back to, however many of it serve.
    let rolling = read(&updating(4, 3), &[set("cc", "1", 1), set("bb", "2", 3)]).rolling;
    assert_eq!(rolling.expect("an update").back_to, None);
    let object = updating(4, 1);
    let nobody =
        LegacyDeployment::read(&object, &[], &sets, SignedDuration::ZERO, at(60)).expect("a stored Deployment");
    assert_eq!(nobody.rolling.expect("an update").back_to.as_deref(), Some("svc-bb"));
    let rolling = read(&updating(4, 0), &[set("cc", "1", 0), set("bb", "2", 4)]).rolling;
    assert_eq!(rolling, None, "with one set it is known which Pods go");
}

#[test]
fn an_update_hangs_when_it_has_not_got_on_for_the_grace() {
    let mut deployment = legacy_deployment(2);
    assert_eq!(deployment.update(GRACE, at(0)), Update::Over);
    deployment.rolling = Some(Rolling {
        progressed: Some(at(20)),
        back_to: Some("svc-bb".to_owned()),
    });
    assert_eq!(deployment.update(GRACE, at(109)), Update::Runs { until: at(110) });
    assert_eq!(deployment.update(GRACE, at(110)), Update::HangsBefore("svc-bb"));
    deployment.set_back = Some(at(110));
    assert_eq!(deployment.update(GRACE, at(199)), Update::Runs { until: at(200) });
    assert_eq!(deployment.update(GRACE, at(200)), Update::Hangs);
    deployment.available = 0;
    assert_eq!(deployment.update(GRACE, at(200)), Update::Barren);
    deployment.set_back = None;
    assert_eq!(deployment.update(GRACE, at(200)), Update::HangsBefore("svc-bb"));
    deployment.given = 0;
    assert_eq!(deployment.update(GRACE, at(200)), Update::Over);
}

#[test]
fn the_label_of_earlier_releases_is_taken_off_by_a_claim_and_tells_when_it_is_back() {
    let claimed = at(0).to_string();
    let mut object = deployment(&[
        (meta::ANNOTATION_LEGACY_CLAIMED, claimed.as_str()),
        (meta::ANNOTATION_OWNER_NAME, "p"),
    ]);
    object.metadata.labels = Some([(meta::LABEL_LEGACY_OWNER_UID.to_owned(), "u".to_owned())].into());
    assert_eq!(read(&object, &[]).claim(GRACE, at(100)), Claim::Held);
    let labels = object.metadata.labels.get_or_insert_default();
    labels.insert(meta::LABEL_OWNER_UID.to_owned(), "u".to_owned());
    assert_eq!(
        read(&object, &[]).claim(GRACE, at(100)),
        Claim::Contested { again: at(90) }
    );
}

#[test]
fn a_file_with_a_status_says_how_many_serve_and_whether_an_update_hangs() {
    let owned = [
        (meta::ANNOTATION_LEGACY_OWNER_NAMESPACE, "ns"),
        (meta::ANNOTATION_LEGACY_OWNER_NAME, "p"),
    ];
    let numbers = |object: &Deployment| {
        let (_, _, read) = LegacyDeployment::in_file(object).expect("a pipeline's");
        (read.available, read.unavailable, read.rolling.is_some())
    };
    assert_eq!(numbers(&deployment(&owned)), (3, 0, false));
    let mut object = deployment(&owned);
    object.status = updating(4, 1).status;
    if let Some(status) = &mut object.status {
        status.available_replicas = Some(3);
    }
    assert_eq!(numbers(&object), (3, 1, true));
}
