use super::*;

// Ready, Progressing, then Reconciling, Stalled, Available.
#[test]
fn each_state_has_its_row_of_conditions() {
    assert_eq!(
        steady(wanted(2), good()).row(5),
        "True/Ready True/NewRevisionAvailable False False True"
    );
    assert_eq!(
        rolling(wanted(2), half()).row(5),
        "False/RollingOut True/RolloutProgressing True False True"
    );
    let failed = vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5)];
    assert_eq!(
        steady(wanted(2), failed).row(5),
        "False/Healing True/RolloutProgressing True False True"
    );
    let waiting = vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5).failures(5)];
    assert_eq!(
        steady(wanted(2), waiting).row(5),
        "False/Healing True/RolloutProgressing True False True"
    );
    assert_eq!(
        rolling(wanted(2).paused(), half()).row(5),
        "False/RolloutPaused Unknown/RolloutPaused False True True"
    );
    assert_eq!(
        steady(wanted(2).paused(), good()).row(5),
        "True/Ready True/NewRevisionAvailable False False True"
    );
    assert_eq!(
        steady(wanted(2).suspend(), vec![]).row(5),
        "True/Suspended True/Suspended False False True"
    );
    assert_eq!(
        steady(wanted(0), vec![]).row(5),
        "True/ScaledToZero True/ScaledToZero False False True"
    );
    assert_eq!(
        steady(wanted(0), good()).row(5),
        "False/Scaling True/RolloutProgressing True False True"
    );
    let late = rolling(wanted(2), half()).row(600);
    assert_eq!(
        late,
        "False/ProgressDeadlineExceeded False/ProgressDeadlineExceeded False True True"
    );
}

#[test]
fn a_gate_that_waits_for_an_analysis_says_so() {
    let pods = vec![pod("svc-0-0", 'a'), pod("svc-canary-0-1", 'b')];
    let mut scene = rolling(wanted(2).canary(), pods);
    scene.case.analysis = crate::core::plan::AnalysisVerdict::Pending("latency: 2 of 5 passes".to_owned());
    assert_eq!(
        scene.row(5),
        "False/AwaitingAnalysis True/AwaitingAnalysis True False True"
    );
    assert_eq!(scene.ready(5), "latency: 2 of 5 passes");
}

#[test]
fn a_failed_revision_is_stalled_until_a_person_acts() {
    let mut scene = rolling(wanted(2), half());
    scene.case.analysis = crate::core::plan::AnalysisVerdict::Failed("p99".to_owned());
    assert_eq!(scene.row(5), "False/RolloutFailed False/RolloutFailed False True True");
    assert_eq!(
        scene.ready(5),
        "revision bbbbbbbbbb failed (a RolloutAnalysis failed); it holds where it stands"
    );
    let aborted = Case {
        analysis: crate::core::plan::AnalysisVerdict::None,
        ..scene.case
    };
    scene.case = aborted.annotated("streams.sentry.io/abort", "bbbbbbbbbb");
    assert_eq!(scene.row(5), "False/RolledBack False/RolledBack False True True");
    assert_eq!(
        scene.ready(5),
        "revision bbbbbbbbbb failed (a person aborted it); aaaaaaaaaa is what runs until the spec changes"
    );
}

#[test]
fn a_spec_that_cannot_be_rendered_names_its_faults() {
    let mut scene = steady(wanted(2), good());
    scene.faults = vec!["spec.segment_id: there are 2 segments".to_owned()];
    scene.case.wanted.revision = None;
    scene.case.wanted.config_map = None;
    assert_eq!(scene.row(5), "False/RenderFailed Unknown/AsExpected False True True");
    assert_eq!(
        scene.ready(5),
        "the spec cannot be rendered: spec.segment_id: there are 2 segments"
    );
    let status = scene.status(5);
    assert_eq!(condition(&status, "Rendered").status, "False");
    let applied = condition(&status, "Applied");
    assert_eq!(
        (applied.status.as_str(), applied.message.as_str()),
        (
            "Unknown",
            "the spec cannot be rendered, so that nothing of it was written"
        )
    );
}

#[test]
fn a_collision_names_the_holder() {
    let mut scene = steady(wanted(2), good());
    scene.case.observed.collision = Some("ns/older".to_owned());
    assert_eq!(scene.row(5), "False/NameCollision Unknown/AsExpected False True True");
    assert!(scene.ready(5).contains("ns/older"));
    let status = scene.status(5);
    let applied = condition(&status, "Applied");
    assert_eq!(
        (applied.status.as_str(), applied.reason.as_str()),
        ("False", "NameCollision"),
        "nothing may be written, so nothing says that all was"
    );
}

#[test]
fn a_missing_namespace_is_named() {
    let mut scene = steady(wanted(2), good());
    scene.case.observed.namespace = NamespaceState::Missing;
    assert_eq!(scene.ready(5), "namespace ns does not exist; create it");
}

#[test]
fn what_the_api_server_refuses_reaches_the_status_in_its_words() {
    let refused = |code, message: &str| {
        let mut scene = steady(wanted(2), vec![pod("svc-0-0", 'a')]);
        scene.result = ActionResult::Refused {
            code,
            reason: "Forbidden".to_owned(),
            message: message.to_owned(),
        };
        let status = scene.status(5);
        let applied = condition(&status, "Applied");
        (
            scene.row(5),
            applied.reason.clone(),
            applied.message.clone(),
            status.total_replicas,
        )
    };
    let quota = refused(403, "pods \"svc-1-0\" is forbidden: exceeded quota: compute");
    assert_eq!(quota.0, "False/QuotaExceeded True/RolloutProgressing False True True");
    assert_eq!(
        quota.2,
        "creating Pod svc-1-0 was refused (403), is tried again within 5 minutes: pods \"svc-1-0\" is forbidden: exceeded quota: compute"
    );
    assert_eq!(quota.3, 1, "a Pod that was refused is not counted");
    assert_eq!(
        refused(403, "User \"operator\" cannot create resource \"pods\"").1,
        "Forbidden"
    );
    assert_eq!(
        refused(422, "spec.containers[0].image: Required value").1,
        "ApiRejected"
    );
    assert_eq!(
        refused(403, "violates PodSecurity \"restricted:latest\"").1,
        "ApiRejected"
    );
}

#[test]
fn an_api_server_that_cannot_be_asked_stalls_nothing() {
    let mut scene = steady(wanted(2), vec![pod("svc-0-0", 'a')]);
    scene.result = ActionResult::Unavailable {
        message: "503".to_owned(),
    };
    assert_eq!(
        scene.row(5),
        "False/ApiUnavailable True/RolloutProgressing True False True"
    );
}

#[test]
fn an_object_of_somebody_else_under_our_name_is_a_collision() {
    let mut scene = steady(wanted(2), vec![pod("svc-0-0", 'a')]);
    scene.result = ActionResult::NotOurs {
        holder: "a Pod that no pipeline owns".to_owned(),
    };
    assert_eq!(
        scene.row(5),
        "False/NameCollision True/RolloutProgressing False True True"
    );
    let expected = "creating Pod svc-1-0: the name belongs to a Pod that no pipeline owns; it is neither changed nor deleted; it is tried again within 5 minutes";
    assert_eq!(scene.ready(5), expected);
}

#[test]
fn a_refused_dry_run_is_said_until_it_is_accepted() {
    let mut scene = rolling(wanted(2), good());
    scene.case.ledger = crate::core::in_flight::Ledger::default();
    scene.result = ActionResult::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message: "no such image".to_owned(),
    };
    let first = scene.status(5);
    assert_eq!(condition(&first, "Applied").reason, "ApiRejected");
    scene.case.previous = first.clone();
    scene
        .case
        .ledger
        .dry_run_refused(&revision('b'), at(5), &scene.case.settings);
    scene.result = ActionResult::Done;
    let second = scene.status(6);
    assert_eq!(condition(&second, "Applied"), condition(&first, "Applied"));
    scene.case.previous = second;
    scene.case.ledger.dry_run_accepted(&revision('b'));
    assert_eq!(condition(&scene.status(16), "Applied").status, "True");
}

#[test]
fn the_message_of_ready_names_the_worst_cause_and_how_many_share_it() {
    let broken = |name: &str| pod(name, 'a').reported("CreateContainerConfigError", "secret \"x\" not found");
    let pods = vec![
        pod("svc-0-0", 'a'),
        broken("svc-1-0"),
        broken("svc-2-0"),
        broken("svc-3-0"),
        pod("svc-4-0", 'a').waits("ContainerCreating"),
    ];
    let expected = "4/5 pods not ready: ordinal 1 CreateContainerConfigError: secret \"x\" not found (+2 similar)";
    assert_eq!(steady(wanted(5), pods).ready(5), expected);
}

#[test]
fn what_only_a_person_can_help_is_the_worst_cause() {
    let typo = pod("svc-1-0", 'a')
        .reported("InvalidImageName", "no")
        .with(|pod| pod.health.permanent = true);
    let scene = steady(
        wanted(2),
        vec![pod("svc-0-0", 'a').reported("ErrImagePull", "no"), typo],
    );
    assert_eq!(
        scene.row(5),
        "False/PermanentPodFailure True/RolloutProgressing False True False"
    );
    assert_eq!(scene.ready(5), "2/2 pods not ready: ordinal 1 InvalidImageName: no");
    let pods = scene.status(5).pods.expect("pods");
    let names: Vec<_> = pods.unhealthy_pods.iter().map(|report| report.name.as_str()).collect();
    assert_eq!((names, pods.permanent_errors.len()), (vec!["svc-1-0", "svc-0-0"], 1));
}

#[test]
fn a_successor_that_does_not_come_up_is_named_although_the_old_pod_is_ready() {
    let successor = pod("svc-0-1", 'b').reported("ImagePullBackOff", "no such image");
    let scene = rolling(wanted(1), vec![pod("svc-0-0", 'a'), successor]);
    assert_eq!(
        scene.ready(5),
        "1 of 1 pod ready, but not svc-0-1, which is to take over: ImagePullBackOff: no such image"
    );
}

#[test]
fn past_the_deadline_the_cause_is_said_and_not_only_that_time_ran_out() {
    let broken = pod("svc-0-1", 'b').reported("ImagePullBackOff", "no such image");
    let scene = rolling(wanted(2), vec![broken, pod("svc-1-0", 'a')]);
    assert_eq!(
        scene.ready(600),
        "no progress within 600 s; 1/2 pods not ready: ordinal 0 ImagePullBackOff: no such image"
    );
}

#[test]
fn a_pipeline_that_is_being_deleted_names_the_pod_that_it_waits_for() {
    let mut scene = steady(wanted(2), good());
    scene.case.pipeline.deleting = true;
    assert!(scene.row(5).starts_with("False/Deleting "), "{}", scene.row(5));
    assert_eq!(
        scene.ready(5),
        "the pipeline is being deleted; Pod svc-0-0 and 1 more have not ended yet"
    );
    scene.case.observed.pods.truncate(1);
    assert_eq!(
        scene.ready(5),
        "the pipeline is being deleted; Pod svc-0-0 has not ended yet"
    );
    scene.case.observed.pods.clear();
    assert_eq!(scene.ready(5), "the pipeline is being deleted");
    let rollout = scene.status(5).rollout.expect("a rollout");
    assert_eq!(rollout.phase, "Deleting", "not what it was before");
}

#[test]
fn pods_that_are_ready_and_not_yet_available_say_what_they_wait_for() {
    let young = pod("svc-1-0", 'a').with(|pod| {
        pod.available_since = None;
        pod.available_at = Some(at(30));
    });
    let scene = steady(wanted(2), vec![pod("svc-0-0", 'a'), young]);
    assert_eq!(
        scene.ready(5),
        "2 of 2 pods updated, all ready, 1 not yet for minReadySeconds"
    );
}
