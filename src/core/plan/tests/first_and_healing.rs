use crate::api::{NoticeReason, PodReplacementPolicy, StreamingPipelineStatus};
use crate::core::health::Verdict;
use crate::core::names::PodName;
use crate::core::plan::fixtures::{Case, PodBuilder, at, observed, pod, recorded, wanted};
use crate::core::plan::{Action, CreateReason};

/// Two Pods of revision a, which is current.
fn running(pods: Vec<PodBuilder>) -> Case {
    let mut seen = observed(pods, "a");
    seen.revisions[0].completed = Some(at(0));
    Case::new(wanted(2), seen, recorded(Some('a'), 'a'))
}

#[test]
fn a_new_pipeline_gets_its_revision_its_config_and_all_its_pods() {
    let case = Case::new(
        wanted(2).canary(),
        observed(vec![], ""),
        StreamingPipelineStatus::default(),
    );
    let expected = "+revision:svc-aaaaaaaaaa +map:svc-a +svc-canary-0-0=a +svc-0-0=a";
    assert_eq!(case.actions(5), expected);
    assert!(
        case.decide(5).facts_first,
        "the revision is recorded before anything is made of it"
    );
}

#[test]
fn a_pipeline_that_is_as_it_should_be_is_left_alone() {
    let case = running(vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')]);
    let decision = case.decide(5);
    assert_eq!(
        (decision.actions, decision.facts_first, decision.wake_after),
        (vec![], false, None)
    );
}

#[test]
fn a_missing_pod_is_made_under_the_next_generation() {
    let mut case = running(vec![pod("svc-0-0", 'a')]);
    case.previous.generations = Some(crate::api::status::SetGenerations {
        primary: [("1".to_owned(), 7)].into(),
        ..Default::default()
    });
    assert_eq!(case.actions(5), "+svc-1-8=a");
}

#[test]
fn the_generation_after_9999_is_0_and_one_that_is_there_is_skipped() {
    let mut case = running(vec![pod("svc-0-0", 'a'), pod("svc-1-9999", 'a').terminating()]);
    case.observed.names.extend(PodName::parse("svc-1-0"));
    assert_eq!(case.actions(5), "+svc-1-1=a");
}

#[test]
fn a_pod_that_nobody_answers_for_is_met_under_its_own_name_and_holds_its_own_place_only() {
    let mut case = running(vec![pod("svc-0-4", 'a')]);
    case.wanted.replicas = 3;
    case.observed.in_the_way.extend(PodName::parse("svc-1-7"));
    assert_eq!(case.actions(5), "+svc-1-7=a +svc-2-0=a");
}

#[test]
fn a_failed_pod_stays_until_its_replacement_is_made_which_counts_the_failure() {
    let case = running(vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5)]);
    assert_eq!(case.actions(5), "+svc-1-1=a!1 -svc-1-0");
}

#[test]
fn from_the_second_failure_on_the_replacement_waits_twice_as_long_each_time() {
    let failed = |failures| {
        running(vec![
            pod("svc-0-0", 'a'),
            pod("svc-1-0", 'a').failed(5).failures(failures),
        ])
    };
    assert_eq!(failed(1).actions(14), "");
    assert_eq!(
        failed(1).decide(14).wake_after,
        Some(jiff::SignedDuration::from_secs(1))
    );
    assert_eq!(failed(1).actions(15), "+svc-1-1=a!2 -svc-1-0");
    assert_eq!(failed(4).actions(84), "");
    assert_eq!(failed(4).actions(85), "+svc-1-1=a!5 -svc-1-0");
    assert_eq!(failed(400).actions(304), "");
    assert_eq!(failed(400).actions(305), "+svc-1-1=a!401 -svc-1-0");
}

#[test]
fn a_disruption_does_not_count_and_a_long_run_wipes_the_count() {
    let evicted = pod("svc-1-0", 'a')
        .failed(5)
        .failures(1)
        .with(|pod| pod.health.disruption = true);
    assert_eq!(
        running(vec![pod("svc-0-0", 'a'), evicted]).actions(5),
        "+svc-1-1=a!1 -svc-1-0"
    );
    let ran = pod("svc-1-0", 'a').failed(5).failures(9).with(|pod| {
        pod.health.ran = jiff::SignedDuration::from_secs(600);
    });
    assert_eq!(
        running(vec![pod("svc-0-0", 'a'), ran]).actions(5),
        "+svc-1-1=a!1 -svc-1-0"
    );
}

#[test]
fn a_pod_whose_image_cannot_be_had_is_deleted_for_its_replacement() {
    let stuck = pod("svc-1-0", 'a').waits("ImagePullBackOff").with(|pod| {
        pod.health.replace = true;
        pod.health.failed_at = Some(at(300));
    });
    let case = running(vec![pod("svc-0-0", 'a'), stuck]);
    assert_eq!(case.actions(301), "-svc-1-0 +svc-1-1=a!1");
    let decision = case.decide(301);
    let made = decision.actions.iter().find_map(|action| match action {
        Action::CreatePod(plan) => Some(plan.why),
        _ => None,
    });
    assert_eq!(made, Some(CreateReason::Failed));
}

#[test]
fn a_persons_delete_carries_the_count_on_unchanged() {
    let case = running(vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failures(3).terminating()]);
    assert_eq!(case.actions(5), "+svc-1-1=a!3");
}

#[test]
fn an_identity_that_must_not_run_twice_waits_for_the_end_of_the_old_pod() {
    let mut case = running(vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').terminating()]);
    case.wanted.policy = PodReplacementPolicy::Failed;
    assert_eq!(case.actions(5), "");
}

#[test]
fn no_third_pod_is_made_beside_two_that_are_terminating() {
    let pods = vec![
        pod("svc-0-0", 'a'),
        pod("svc-1-0", 'a').terminating(),
        pod("svc-1-1", 'a').terminating(),
    ];
    assert_eq!(running(pods).actions(5), "");
}

#[test]
fn a_pod_that_does_not_end_is_forced_but_never_where_its_identity_must_not_run_twice() {
    let stuck = || {
        pod("svc-1-0", 'a').terminating().with(|pod| {
            pod.health.verdict = Verdict::Stuck;
            pod.health.replace = true;
        })
    };
    let pods = || vec![pod("svc-0-0", 'a'), pod("svc-1-1", 'a'), stuck()];
    assert_eq!(running(pods()).actions(5), "-svc-1-0(force)");
    let mut case = running(pods());
    case.wanted.policy = PodReplacementPolicy::Failed;
    assert_eq!(case.actions(5), "");
}

#[test]
fn a_predecessors_pod_that_does_not_end_is_forced_as_one_of_ours_is() {
    let stuck = pod("svc-0-0", 'a').terminating().predecessors().with(|pod| {
        pod.health.verdict = Verdict::Stuck;
        pod.health.replace = true;
    });
    let pods = vec![stuck, pod("svc-0-1", 'a'), pod("svc-1-0", 'a')];
    assert_eq!(running(pods).actions(5), "-svc-0-0(force)");
}

#[test]
fn of_two_live_pods_of_a_place_the_available_one_stays() {
    let case = running(vec![
        pod("svc-0-0", 'a'),
        pod("svc-1-0", 'a'),
        pod("svc-1-1", 'a').waits("ContainerCreating"),
    ]);
    assert_eq!(case.actions(5), "-svc-1-1");
}

#[test]
fn a_pod_whose_create_got_no_answer_is_not_deleted_for_it_has_no_uid() {
    let unknown = pod("svc-1-1", 'a').waits("Pending").with(|pod| pod.uid = String::new());
    let case = running(vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a'), unknown]);
    assert_eq!(case.actions(5), "");
}

#[test]
fn with_a_collision_nothing_is_made_or_deleted() {
    let mut case = running(vec![pod("svc-0-0", 'a'), pod("svc-7-0", 'b')]);
    case.observed.collision = Some("ns/other".to_owned());
    assert_eq!(case.actions(5), "");
}

#[test]
fn a_rollout_is_told_to_start_when_the_names_are_its_own_and_not_before() {
    let mut case = Case::new(wanted(2), observed(vec![], ""), StreamingPipelineStatus::default());
    case.observed.collision = Some("ns/other".to_owned());
    assert_eq!(case.decide(5).notices, []);
    case.observed.collision = None;
    assert_eq!(case.decide(6).notices[0].reason, NoticeReason::RolloutStarted);
}
