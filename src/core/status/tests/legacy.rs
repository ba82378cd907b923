//! What is said of a pipeline that moves from the Python operator, or from another namespace.

use super::*;
use crate::core::observed::{Owner, Rolling};
use crate::core::plan::fixtures::legacy_deployment;

fn moving(replicas: usize) -> Scene {
    let mut scene = scene(wanted(3), observed(Vec::new(), "a"), recorded(None, 'a'));
    scene.case.observed.legacy.deployments = vec![legacy_deployment(replicas)];
    scene
}

#[test]
fn legacy_consumers_count_as_the_pipelines_own() {
    let status = moving(3).status(5);
    let numbers = (
        status.total_replicas,
        status.ready_replicas,
        status.available_replicas,
        status.updated_replicas,
    );
    // One was taken off in this pass.
    assert_eq!(numbers, (3, 2, 2, 0));
    assert_eq!(condition(&status, "Available").status, "True");
}

#[test]
fn the_move_says_what_is_left() {
    assert_eq!(
        moving(3).ready(5),
        "moves from the Python operator: 3 consumers still to be taken off Deployment ns/legacy"
    );
    assert_eq!(
        moving(3).row(5),
        "False/RollingOut True/RolloutProgressing True False True"
    );
}

#[test]
fn a_deployment_that_is_not_left_alone_for_long_enough_is_waited_for() {
    let mut scene = moving(3);
    scene.case.observed.legacy.deployments[0].claimed = Some(at(0));
    assert_eq!(
        scene.ready(5),
        "moves from the Python operator: 3 consumers still in Deployment ns/legacy, which must have been left alone for 90 s \
         (until 2027-01-15T08:01:30Z) before one is taken off"
    );
}

#[test]
fn another_operator_stops_the_move_and_only_a_person_can_get_it_on() {
    let mut scene = moving(3);
    let deployment = &mut scene.case.observed.legacy.deployments[0];
    (deployment.wrote, deployment.claimed) = (Some(2), Some(at(0)));
    assert_eq!(
        scene.row(5),
        "False/LegacyOperatorRunning Unknown/AsExpected False True True"
    );
    let status = scene.status(5);
    let applied = condition(&status, "Applied");
    assert_eq!(
        (applied.status.as_str(), applied.reason.as_str()),
        ("False", "LegacyOperatorRunning")
    );
    assert_eq!(
        applied.message,
        "Deployment ns/legacy was set to 3 replicas after this operator had set 2: does the Python operator still run? \
         Nothing is taken off meanwhile. Stop it (kubectl scale deployment streaming-operator --replicas=0, in its namespace); \
         the move goes on when the Deployment has been left alone for 90 s"
    );
}

#[test]
fn a_rolling_update_that_hangs_is_waited_for_and_then_left_to_a_person_with_the_command() {
    let mut scene = moving(3);
    let deployment = &mut scene.case.observed.legacy.deployments[0];
    (deployment.available, deployment.unavailable) = (2, 2);
    deployment.rolling = Some(Rolling {
        progressed: Some(at(0)),
        back_to: Some("legacy-5d4f".to_owned()),
    });
    assert_eq!(
        scene.ready(5),
        "moves from the Python operator: Deployment ns/legacy is itself in a rolling update. When that has not got on for 90 s, \
         it is set back to the Pods that serve"
    );
    scene.case.observed.legacy.deployments[0].set_back = Some(at(0));
    assert_eq!(
        scene.row(90),
        "False/LegacyRolloutHangs Unknown/AsExpected False True True"
    );
    assert_eq!(
        scene.ready(90),
        "Deployment ns/legacy is in a rolling update that does not come to its end: 2 of its 4 Pods are not available. Nothing \
         is taken off it, for one that serves might go. See what keeps them (kubectl get pods --namespace ns), or set it back: \
         kubectl rollout undo deployment legacy --namespace ns"
    );
}

#[test]
fn a_pod_of_ours_that_keeps_the_move_waiting_is_named_with_its_cause() {
    let mut scene = moving(2);
    scene.case.observed.pods = observed(vec![pod("svc-0-0", 'a').waits("ErrImagePull")], "a").pods;
    assert_eq!(
        scene.ready(5),
        "moves from the Python operator: 2 consumers still to be taken off Deployment ns/legacy; 1/3 pods not ready: \
         ordinal 0 ErrImagePull"
    );
}

#[test]
fn while_paused_it_says_that_the_consumers_are_not_moved() {
    let mut scene = moving(3);
    scene.case.wanted.paused = true;
    assert_eq!(
        scene.ready(5),
        "rollout.paused is set: 3 consumers are not moved from the Python operator; 0 of 3 pods updated, all ready"
    );
}

#[test]
fn what_cannot_be_seen_bars_every_write_and_names_the_right() {
    let mut scene = moving(0);
    scene.case.observed.legacy.unreadable = Some("the operator lacks the rights there: list pods".to_owned());
    scene.case.observed.legacy.old_namespace = Some("old".to_owned());
    let status = scene.status(5);
    let applied = condition(&status, "Applied");
    assert_eq!(
        (applied.status.as_str(), applied.reason.as_str()),
        ("False", "LegacyUnreadable")
    );
    assert_eq!(applied.message, "the operator lacks the rights there: list pods");
    assert_eq!(status.workload_namespace.as_deref(), Some("old"), "it is not forgotten");
}

#[test]
fn the_old_namespace_is_remembered_until_nothing_is_left_there() {
    let mut scene = moving(0);
    scene.case.observed.legacy.deployments.clear();
    scene.case.observed.legacy.old_namespace = Some("old".to_owned());
    let left = pod("svc-0-1", 'a').with(|pod| pod.owner = Owner::OldNamespace);
    scene.case.observed.pods = observed(vec![left], "").pods;
    let status = scene.status(5);
    assert_eq!(status.workload_namespace.as_deref(), Some("old"));
    scene.case.observed.pods.clear();
    assert_eq!(scene.status(5).workload_namespace.as_deref(), Some("ns"));
}
