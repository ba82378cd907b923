use crate::core::names::WorkloadSet;
use crate::core::observed::{Legacy, LegacyConfigMap, LegacyDeployment, Owner, Rolling};
use crate::core::plan::fixtures::{Case, at, legacy_deployment, observed, pod, recorded, wanted};

/// Nothing of ours is there yet, and these Deployments are, left alone since long ago.
fn moves(replicas: u16, deployments: Vec<LegacyDeployment>) -> Case {
    let mut case = Case::new(wanted(replicas), observed(Vec::new(), "a"), recorded(None, 'a'));
    case.observed.legacy = Legacy {
        deployments,
        has_marks: true,
        ..Legacy::default()
    };
    case
}

fn map(used_by: Option<&str>) -> LegacyConfigMap {
    LegacyConfigMap {
        namespace: "ns".to_owned(),
        name: "map".to_owned(),
        uid: "uid-of-map".to_owned(),
        used_by: used_by.map(str::to_owned),
    }
}

#[test]
fn of_a_deployment_that_shows_more_pods_than_it_was_given_only_so_many_count() {
    let mut deployment = legacy_deployment(2);
    deployment.available = 4;
    let mut case = moves(4, vec![deployment]);
    // Two count; were it four, two more could go.
    assert_eq!(case.observed.legacy.available(), 2);
    assert_eq!(case.actions(5), "");
    case.observed.legacy.deployments[0].available = 2;
    assert_eq!(case.actions(5), "+svc-0-0=a +svc-1-0=a");
}

#[test]
fn a_deployment_that_serves_goes_before_a_canary_that_may_not() {
    let canary = LegacyDeployment {
        name: "legacy-canary".to_owned(),
        uid: "uid-of-legacy-canary".to_owned(),
        set: WorkloadSet::Canary,
        ..legacy_deployment(1)
    };
    let mut primary = legacy_deployment(2);
    (primary.available, primary.unavailable) = (1, 1);
    let case = moves(3, vec![canary, primary]);
    // The floor is two, and two serve: the canary must stay, and the one that serves nobody goes.
    assert_eq!(case.actions(5), "legacy:2>1");
}

#[test]
fn an_unclaimed_deployment_is_claimed_and_nothing_else() {
    let mut deployment = legacy_deployment(2);
    (deployment.claimed, deployment.wrote) = (None, None);
    let mut case = moves(2, vec![deployment]);
    assert_eq!(case.actions(5), "claim:legacy=2");
    case.observed.legacy.deployments[0].claimed = Some(at(0));
    assert_eq!(case.actions(89), "", "it was not left alone for long enough");
    assert_eq!(case.actions(90), "legacy:2>1");
}

#[test]
fn what_somebody_else_applied_is_claimed_again_after_the_grace_and_not_touched_before() {
    let mut deployment = legacy_deployment(2);
    (deployment.claimed, deployment.applied) = (Some(at(0)), true);
    let mut case = moves(2, vec![deployment]);
    assert_eq!(case.actions(60), "");
    assert_eq!(case.actions(90), "claim:legacy=2");
    let deployment = &mut case.observed.legacy.deployments[0];
    (deployment.applied, deployment.given, deployment.wrote) = (false, 2, Some(1));
    assert_eq!(case.actions(60), "");
    assert_eq!(case.actions(90), "claim:legacy=2");
}

#[test]
fn an_empty_deployment_goes_after_what_it_mounted_and_the_marks_last() {
    let pods = || vec![pod("svc-0-0", 'a')];
    let mut case = moves(1, vec![legacy_deployment(0)]);
    case.observed.pods = observed(pods(), "a").pods;
    case.observed.legacy.config_maps = vec![map(None)];
    assert!(case.actions(5).ends_with("-legacy-map:map -deployment:legacy"));
    case.observed.legacy.config_maps = vec![map(Some("ns/other"))];
    assert!(
        case.actions(5).ends_with(" -deployment:legacy"),
        "another pipeline mounts it"
    );
    case.observed.legacy.deployments.clear();
    assert!(
        !case.actions(5).contains("-marks"),
        "the ConfigMap is still to be removed"
    );
    case.observed.legacy.config_maps.clear();
    assert!(case.actions(5).ends_with("-marks"));
}

#[test]
fn nothing_is_created_while_it_cannot_be_seen_what_is_left() {
    let mut case = moves(2, Vec::new());
    case.observed.legacy.old_namespace = Some("old".to_owned());
    case.observed.legacy.unreadable = Some("list pods".to_owned());
    assert_eq!(case.actions(5), "+finalizer");
    case.pipeline.has_finalizer = true;
    assert_eq!(case.actions(5), "");
    let wake = case.decide(5).wake_after.expect("it looks again");
    assert_eq!(wake.as_secs(), 30);
}

#[test]
fn pods_in_the_old_namespace_are_replaced_within_the_budget() {
    let mut case = moves(3, Vec::new());
    let pods = ["svc-0-4", "svc-1-4", "svc-2-4"].map(|name| pod(name, 'a').with(|pod| pod.owner = Owner::OldNamespace));
    case.observed.pods = observed(pods.into(), "").pods;
    case.observed.legacy.old_namespace = Some("old".to_owned());
    case.pipeline.has_finalizer = true;
    assert_eq!(case.actions(5), "-svc-0-4 +svc-0-0=a");
    case.observed.pods.clear();
    assert!(case.actions(5).starts_with("-finalizer"));
    case.observed.legacy.config_maps = vec![LegacyConfigMap {
        namespace: "old".to_owned(),
        ..map(Some("ns/other"))
    }];
    assert!(
        !case.actions(5).contains("-finalizer"),
        "another pipeline mounts what is left there"
    );
}

#[test]
fn a_deleted_pipeline_takes_what_the_python_operator_left_with_it() {
    let mut case = moves(2, vec![legacy_deployment(2)]);
    case.pipeline.deleting = true;
    case.observed.legacy.config_maps = vec![map(None)];
    assert_eq!(case.actions(5), "-deployment:legacy -legacy-map:map");
    case.observed.legacy.deployments[0].deleting = true;
    case.observed.legacy.config_maps.clear();
    assert_eq!(case.actions(5), "", "its Pods are to go first");
    case.observed.legacy.deployments.clear();
    assert_eq!(case.actions(5), "-marks");
    case.observed.legacy.has_marks = false;
    assert_eq!(case.actions(5), "");
}

#[test]
fn a_deleted_pipeline_waits_for_the_right_to_look() {
    let mut case = moves(2, Vec::new());
    case.pipeline.deleting = true;
    case.pipeline.has_finalizer = true;
    case.observed.legacy.unreadable = Some("list pods".to_owned());
    assert_eq!(case.actions(5), "");
}

#[test]
fn back_in_its_own_namespace_the_finalizer_goes_when_nothing_is_left_elsewhere() {
    let mut case = moves(1, Vec::new());
    case.observed.legacy.has_marks = false;
    case.pipeline.has_finalizer = true;
    case.pipeline.deleting = true;
    let left = pod("svc-0-1", 'a').with(|pod| pod.owner = Owner::OldNamespace);
    case.observed.pods = observed(vec![left], "").pods;
    case.observed.legacy.old_namespace = Some("old".to_owned());
    assert_eq!(case.actions(5), "-svc-0-1");
    case.observed.pods.clear();
    assert_eq!(case.actions(5), "-finalizer");
}

/// One that hangs in a rolling update, with Pods beyond its number.
fn hanging(replicas: usize, available: usize, unavailable: usize, back_to: Option<&str>) -> LegacyDeployment {
    LegacyDeployment {
        available,
        unavailable,
        rolling: Some(Rolling {
            progressed: Some(at(-50)),
            back_to: back_to.map(str::to_owned),
        }),
        ..legacy_deployment(replicas)
    }
}

#[test]
fn a_deployment_that_hangs_in_a_rolling_update_is_set_back_and_nothing_is_taken_off() {
    let case = moves(4, vec![hanging(4, 3, 2, Some("legacy-5d4f"))]);
    assert_eq!(case.actions(39), "", "it may still get on");
    assert_eq!(case.decide(39).wake_after.expect("it looks again").as_secs(), 1);
    assert_eq!(case.actions(40), "legacy<legacy-5d4f");
}

#[test]
fn it_is_set_back_once_and_then_a_person_decides() {
    let mut case = moves(4, vec![hanging(4, 3, 2, Some("legacy-5d4f"))]);
    case.observed.legacy.deployments[0].set_back = Some(at(0));
    assert_eq!(case.actions(89), "");
    assert_eq!(case.actions(90), "");
    case.observed.legacy.deployments[0].rolling = None;
    assert_eq!(case.actions(90), "", "it still shows one too many");
    case.observed.legacy.deployments[0].unavailable = 1;
    assert_eq!(case.actions(90), "legacy:4>3");
}

#[test]
fn a_rolling_update_that_leaves_no_pod_too_many_is_one_all_the_same() {
    // Its new Pods are refused by a quota. Taking one off would take one that serves.
    let case = moves(4, vec![hanging(4, 3, 0, Some("legacy-5d4f"))]);
    assert_eq!(case.actions(5), "");
}

#[test]
fn the_only_consumer_is_not_handed_over_beside_a_pod_too_many() {
    let mut case = moves(1, vec![hanging(1, 1, 1, Some("legacy-5d4f"))]);
    assert_eq!(case.actions(40), "legacy<legacy-5d4f");
    let deployment = &mut case.observed.legacy.deployments[0];
    (deployment.rolling, deployment.unavailable, deployment.terminating) = (None, 0, 1);
    assert_eq!(case.actions(41), "");
    case.observed.legacy.deployments[0].terminating = 0;
    assert_eq!(case.actions(42), "+svc-0-0=a");
}

#[test]
fn a_deployment_that_hangs_and_serves_nobody_is_given_up_unless_ours_serve_as_little() {
    let mut case = moves(4, vec![hanging(4, 0, 5, Some("legacy-5d4f"))]);
    // They may be unready for a moment only.
    assert_eq!(case.actions(40), "legacy<legacy-5d4f");
    case.observed.legacy.deployments[0].set_back = Some(at(-50));
    assert_eq!(case.actions(39), "");
    assert_eq!(case.actions(40), "legacy:4>0");
    case.wanted.paused = true;
    assert_eq!(case.actions(40), "");
    case.wanted.paused = false;
    case.observed.legacy.deployments.push(LegacyDeployment {
        name: "legacy-canary".to_owned(),
        uid: "uid-of-legacy-canary".to_owned(),
        set: WorkloadSet::Canary,
        ..legacy_deployment(0)
    });
    case.observed.pods = observed(vec![pod("svc-0-0", 'a').waits("Pending")], "a").pods;
    assert!(!case.actions(40).contains("legacy:4>0"));
}

#[test]
fn a_scale_down_takes_nothing_off_a_rolling_update_that_still_serves() {
    let case = moves(2, vec![hanging(4, 3, 2, Some("legacy-5d4f"))]);
    assert_eq!(case.actions(5), "");
    let case = moves(0, vec![hanging(4, 3, 2, Some("legacy-5d4f"))]);
    assert_eq!(case.actions(5), "legacy:4>0", "none is wanted");
}

// Scaled down from three, with the last consumer of the Deployment kept because nothing else serves: together they are more
// than are wanted, and none of the two would ever be filled if each waited for the other.
#[test]
fn of_two_failed_pods_that_wait_beside_a_kept_consumer_one_is_made_again() {
    let mut case = moves(2, vec![legacy_deployment(1)]);
    let seen = vec![pod("svc-0-0", 'b').failed(0), pod("svc-1-0", 'b').failed(0)];
    let legacy = std::mem::take(&mut case.observed.legacy);
    case.observed = observed(seen, "ab");
    case.observed.legacy = legacy;
    assert_eq!(case.actions(5), "+svc-0-1=a -svc-0-0");
}
