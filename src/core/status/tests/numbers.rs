use super::*;

#[test]
fn an_unchanged_world_yields_an_equal_status() {
    for scene in [
        steady(wanted(2), good()),
        rolling(wanted(2), half()),
        steady(wanted(2).suspend(), vec![]),
    ] {
        let mut scene = scene;
        scene.case.previous = scene.status(5);
        assert_eq!(scene.status(300), scene.case.previous);
    }
}

#[test]
fn a_transition_time_changes_only_with_the_status_of_its_condition() {
    let mut scene = rolling(wanted(2), half());
    scene.case.previous = scene.status(5);
    scene.case.observed.pods[0].health.report = true;
    let later = scene.status(50);
    let since = |status: &StreamingPipelineStatus| condition(status, "Ready").last_transition_time.clone();
    assert_eq!(since(&later), "2027-01-15T08:00:05Z");
    scene
        .case
        .previous
        .conditions
        .iter_mut()
        .for_each(|condition| condition.observed_generation = None);
    assert_eq!(
        since(&scene.status(50)),
        "2027-01-15T08:00:50Z",
        "what another operator wrote does not count"
    );
}

#[test]
fn the_write_before_the_actions_says_that_work_begins_and_claims_nothing() {
    let mut scene = rolling(wanted(2), good());
    let decision = scene.case.decide(5);
    scene.case.previous = steady(wanted(2), good()).status(1);
    let status = scene.of(&decision.facts, None, 5);
    assert_eq!(status.observed_generation, Some(3));
    assert_eq!(condition(&status, "Reconciling").status, "True");
    assert_eq!((status.total_replicas, status.updated_replicas), (2, 0));
    scene.case.previous = StreamingPipelineStatus::default();
    let first = scene.of(&decision.facts, None, 5);
    assert_eq!(condition(&first, "Applied").status, "Unknown");
    assert_eq!(first.conditions.len(), 8);
}

#[test]
fn the_numbers_count_places_and_not_the_second_pod_of_a_hand_over() {
    let scene = rolling(
        wanted(1),
        vec![pod("svc-0-0", 'a'), pod("svc-0-1", 'b').waits("Pending")],
    );
    let status = scene.status(5);
    let numbers = (
        status.total_replicas,
        status.ready_replicas,
        status.updated_replicas,
        status.available_replicas,
    );
    assert_eq!(numbers, (1, 1, 1, 1));
    let pods = status.pods.expect("pods");
    assert_eq!(
        (pods.child_pods.len(), pods.desired_replicas, pods.ready_replicas),
        (2, 1, 1)
    );
}

#[test]
fn what_was_made_and_deleted_is_counted() {
    let scene = rolling(wanted(2), good());
    let facts = scene.case.decide(5).facts;
    let made = Action::CreatePod(PodPlan {
        name: PodName::parse("svc-0-1").expect("a Pod name"),
        set: WorkloadSet::Primary,
        revision: revision('b'),
        failures: 0,
        why: CreateReason::Missing,
        replaces: None,
    });
    let deleted = Action::DeletePod(PodDelete {
        name: "svc-0-0".to_owned(),
        uid: "uid-of-svc-0-0".to_owned(),
        why: crate::core::plan::DeleteReason::OutdatedRevision,
        force: false,
    });
    let results = vec![(deleted, ActionResult::Done), (made, ActionResult::Done)];
    let status = scene.of(&facts, Some(&Outcome { results }), 5);
    let numbers = (
        status.total_replicas,
        status.available_replicas,
        status.terminating_replicas,
        status.updated_replicas,
    );
    assert_eq!(numbers, (2, 1, 1, 1));
}

#[test]
fn a_generation_whose_create_was_refused_was_not_given_and_the_next_try_has_the_same_name() {
    let mut scene = steady(wanted(2), vec![pod("svc-0-0", 'a')]);
    let given = |status: StreamingPipelineStatus| status.generations.map(|generations| generations.primary);
    for (result, number) in [
        (ActionResult::Done, Some(0)),
        (
            ActionResult::Unavailable {
                message: "no answer".to_owned(),
            },
            Some(0),
        ),
        (
            ActionResult::NotOurs {
                holder: "Pod svc-1-0".to_owned(),
            },
            None,
        ),
        (
            ActionResult::Refused {
                code: 403,
                reason: "Forbidden".to_owned(),
                message: "no".to_owned(),
            },
            None,
        ),
    ] {
        scene.result = result;
        let expected = number.map(|number| [("1".to_owned(), number)].into());
        assert_eq!(given(scene.status(5)), expected, "{:?}", scene.result);
    }
    scene.case.previous = scene.status(5);
    assert_eq!(scene.case.actions(6), "+svc-1-0=a");
    assert_eq!(
        scene.status(6),
        scene.case.previous,
        "the same words, so nothing is written"
    );
}

#[test]
fn lists_and_messages_are_cut() {
    let names: Vec<String> = (0..60).map(|ordinal| format!("svc-{ordinal}-0")).collect();
    let pods = names
        .iter()
        .map(|name| pod(name, 'a').reported("ErrImagePull", &"ü".repeat(2000)))
        .collect();
    let summary = steady(wanted(60), pods).status(5).pods.expect("pods");
    assert_eq!((summary.child_pods.len(), summary.unhealthy_pods.len()), (50, 50));
    let message = summary.unhealthy_pods[0].message.clone().expect("a message");
    assert_eq!((message.len(), message.ends_with('…')), (1023, true));
}

#[test]
fn a_failed_pod_says_how_often_and_when_the_next_try_is() {
    let status = steady(
        wanted(2),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5).failures(3)],
    )
    .status(10);
    let report = status.pods.expect("pods").unhealthy_pods.remove(0);
    assert_eq!(
        (report.failures, report.next_try.as_deref()),
        (Some(4), Some("2027-01-15T08:00:45Z"))
    );
    assert_eq!(
        (report.reason.as_deref(), report.ordinal.as_deref()),
        (Some("Error"), Some("1"))
    );
}

#[test]
fn a_canary_is_shown_where_one_is_wanted_and_absent_else() {
    let with = steady(
        wanted(2).canary(),
        vec![pod("svc-0-0", 'a'), pod("svc-canary-0-0", 'a')],
    )
    .status(5);
    assert_eq!(with.replicas.expect("replicas").canary, Some(1));
    let sets = with.pods.expect("pods").sets.expect("sets");
    assert_eq!(
        sets.canary.map(|canary| canary.child_pods),
        Some(vec!["svc-canary-0-0".to_owned()])
    );
    let without = steady(wanted(2), good()).status(5);
    assert_eq!(without.replicas.expect("replicas").canary, None);
    assert_eq!(without.pods.expect("pods").sets.expect("sets").canary, None);
}
