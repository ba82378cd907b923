//! What an analysis says of itself, and when that is written.

use super::super::fixtures::{after, analysis, at, ended, go_on, measured, target, unavailable};
use super::*;
use crate::api::analysis_status::Outcome::{self, Error, Fail, NoData, Pass};
use crate::api::analysis_status::Verdict;

/// The target of the fixtures.
fn names(kind: TargetKind) -> AnalysisTarget {
    AnalysisTarget {
        kind,
        name: "p".to_owned(),
    }
}

/// The status of a pipeline's analysis.
fn of(target: &Target, run: &Run) -> RolloutAnalysisStatus {
    let input = StatusInput {
        generation: Some(4),
        names: Some(&names(TargetKind::StreamingPipeline)),
        analysis: Ok(&analysis()),
        target: Some(target),
        run,
        hold: &Hold::None,
        previous: &RolloutAnalysisStatus::default(),
    };
    status(&input, at(1000))
}

fn measured_so(facts: &TargetFacts, outcomes: &[Outcome]) -> RolloutAnalysisStatus {
    of(&Target::Found(facts.clone()), &after(&analysis(), facts, outcomes))
}

/// `Type=Status/Reason` of every condition.
fn shown(status: &RolloutAnalysisStatus) -> Vec<String> {
    let conditions = status.conditions.iter();
    conditions
        .map(|condition| format!("{}={}/{}", condition.type_, condition.status, condition.reason))
        .collect()
}

fn message(status: &RolloutAnalysisStatus, type_: AnalysisConditionType) -> &str {
    previous(status, type_).map_or("", |condition| &condition.message)
}

const READY: AnalysisConditionType = AnalysisConditionType::Ready;

#[test]
fn all_conditions_are_there_from_the_first_visit_on() {
    let status = measured_so(&unavailable(), &[]);
    assert_eq!(
        shown(&status),
        [
            "Ready=True/AwaitingRollout",
            "TargetFound=True/TargetFound",
            "MetricsUnavailable=False/AsExpected",
            "RegressionDetected=False/AsExpected",
            "RolloutPaused=False/AsExpected",
            "Stalled=False/AsExpected",
        ]
    );
    assert_eq!(status.verdict, Some(Verdict::Pending));
    assert_eq!(status.observed_generation, Some(4));
    assert!(
        status
            .conditions
            .iter()
            .all(|condition| condition.observed_generation == Some(4))
    );
}

#[test]
fn measuring_and_passing_are_ready_with_the_counts() {
    let status = measured_so(&target(), &[Pass]);
    assert_eq!(shown(&status)[0], "Ready=True/Measuring");
    assert_eq!(message(&status, READY), "1 of 2 passes, 0 of 3 failures");
    let status = measured_so(&target(), &[Pass, Pass]);
    assert_eq!(shown(&status)[0], "Ready=True/Passed");
}

#[test]
fn a_failed_revision_is_paused_with_metric_value_and_limit() {
    let status = measured_so(&target(), &[Fail, Fail, Fail]);
    assert_eq!(
        shown(&status),
        [
            "Ready=False/RegressionDetected",
            "TargetFound=True/TargetFound",
            "MetricsUnavailable=False/MetricsAvailable",
            "RegressionDetected=True/RegressionDetected",
            "RolloutPaused=True/RegressionDetected",
            "Stalled=False/AsExpected",
        ]
    );
    assert_eq!(
        message(&status, AnalysisConditionType::RolloutPaused),
        "metric regression detected: p99-latency = 0.31 > 0.25 (revision bbbbbbbbbb)"
    );
}

#[test]
fn an_outage_shows_in_ready_and_pauses_nothing_at_any_stage() {
    for outcomes in [&[Error][..], &[Pass, Error], &[Fail, Fail, Error], &[Pass, Pass, Error]] {
        let status = measured_so(&target(), outcomes);
        assert_eq!(
            shown(&status),
            [
                "Ready=False/MetricsUnavailable",
                "TargetFound=True/TargetFound",
                "MetricsUnavailable=True/MetricsUnavailable",
                "RegressionDetected=False/AsExpected",
                "RolloutPaused=False/AsExpected",
                "Stalled=False/AsExpected",
            ],
            "{outcomes:?}"
        );
    }
    let status = measured_so(&target(), &[Fail, Fail, Fail, Error]);
    assert_eq!(status.verdict, Some(Verdict::Failed));
    assert_eq!(shown(&status)[4], "RolloutPaused=True/RegressionDetected");
}

#[test]
fn a_query_that_is_refused_and_a_source_that_is_not_there_need_a_person() {
    let with = |error: QueryError| {
        let mut run = after(&analysis(), &target(), &[Error]);
        run.error = Some(error);
        shown(&of(&Target::Found(target()), &run))
    };
    let refused = with(QueryError::Rejected("bad".to_owned()));
    assert_eq!(
        [&refused[0], &refused[2], &refused[5]],
        [
            "Ready=False/QueryRejected",
            "MetricsUnavailable=True/QueryRejected",
            "Stalled=True/QueryRejected"
        ]
    );
    let unknown = with(QueryError::UnknownSource("none".to_owned()));
    assert_eq!(
        [&unknown[0], &unknown[2], &unknown[5]],
        [
            "Ready=False/UnknownSource",
            "MetricsUnavailable=Unknown/UnknownSource",
            "Stalled=True/UnknownSource"
        ]
    );
}

#[test]
fn missing_data_shows_from_the_third_measurement_on() {
    assert_eq!(shown(&measured_so(&target(), &[NoData; 2]))[0], "Ready=True/Measuring");
    assert_eq!(shown(&measured_so(&target(), &[NoData; 3]))[0], "Ready=False/NoData");
}

#[test]
fn a_target_that_is_missing_off_or_forbidden_says_so() {
    let ready_found_stalled = |target: Target| {
        let shown = shown(&of(&target, &Run::default()));
        [shown[0].clone(), shown[1].clone(), shown[5].clone()]
    };
    assert_eq!(
        ready_found_stalled(Target::Missing),
        [
            "Ready=False/TargetMissing",
            "TargetFound=False/TargetMissing",
            "Stalled=False/AsExpected"
        ]
    );
    assert_eq!(
        ready_found_stalled(Target::Off),
        [
            "Ready=False/DeploymentTargetsOff",
            "TargetFound=Unknown/DeploymentTargetsOff",
            "Stalled=True/DeploymentTargetsOff"
        ]
    );
    assert_eq!(
        ready_found_stalled(Target::Forbidden("no".to_owned())),
        [
            "Ready=False/Forbidden",
            "TargetFound=Unknown/Forbidden",
            "Stalled=True/Forbidden"
        ]
    );
    assert_eq!(
        ready_found_stalled(Target::Unseen),
        [
            "Ready=True/AwaitingRollout",
            "TargetFound=True/TargetFound",
            "Stalled=False/AsExpected"
        ]
    );
}

#[test]
fn a_spec_that_breaks_rules_says_so_with_every_fault() {
    let input = StatusInput {
        generation: Some(4),
        names: None,
        analysis: Err("spec.interval: too short"),
        target: None,
        run: &Run::default(),
        hold: &Hold::None,
        previous: &RolloutAnalysisStatus::default(),
    };
    let status = status(&input, at(0));
    let shown = shown(&status);
    assert_eq!(
        [&shown[0], &shown[1], &shown[5]],
        [
            "Ready=False/InvalidSpec",
            "TargetFound=Unknown/InvalidSpec",
            "Stalled=True/InvalidSpec"
        ]
    );
    assert_eq!(message(&status, READY), "spec.interval: too short");
}

#[test]
fn a_regression_after_the_rollout_shows_and_pauses_nothing() {
    let run = go_on(
        after(&analysis(), &target(), &[Pass, Pass]),
        &analysis(),
        &ended(),
        &[Fail; 3],
    );
    let status = of(&Target::Found(ended()), &run);
    assert_eq!(
        shown(&status)[3..5],
        [
            "RegressionDetected=True/RegressionDetected",
            "RolloutPaused=False/AsExpected"
        ]
    );
    assert_eq!(status.verdict, Some(Verdict::Passed));
}

#[test]
fn what_only_reports_or_has_nothing_to_hold_on_to_pauses_nothing() {
    let first = TargetFacts {
        can_hold: false,
        ..target()
    };
    let status = measured_so(&first, &[Fail; 3]);
    assert_eq!(
        shown(&status)[3..5],
        [
            "RegressionDetected=True/RegressionDetected",
            "RolloutPaused=False/AsExpected"
        ]
    );
    let reports = ValidAnalysis {
        mode: AnalysisMode::ReportOnly,
        ..analysis()
    };
    let input = StatusInput {
        generation: Some(4),
        names: Some(&names(TargetKind::StreamingPipeline)),
        analysis: Ok(&reports),
        target: Some(&Target::Found(target())),
        run: &after(&reports, &target(), &[Fail; 3]),
        hold: &Hold::None,
        previous: &RolloutAnalysisStatus::default(),
    };
    assert_eq!(
        shown(&super::status(&input, at(0)))[4],
        "RolloutPaused=False/AsExpected"
    );
}

/// The status of a Deployment's analysis that has failed, and holds it like that.
fn holding(hold: &Hold, run: &Run) -> RolloutAnalysisStatus {
    let input = StatusInput {
        generation: Some(4),
        names: Some(&names(TargetKind::Deployment)),
        analysis: Ok(&analysis()),
        target: Some(&Target::Found(target())),
        run,
        hold,
        previous: &RolloutAnalysisStatus::default(),
    };
    status(&input, at(0))
}

#[test]
fn a_deployment_is_paused_only_once_it_is_held() {
    let failed = after(&analysis(), &target(), &[Fail; 3]);
    let held = HeldDeployment {
        name: "p".to_owned(),
        uid: "t".to_owned(),
        revision: "bbbbbbbbbb".to_owned(),
    };
    assert_eq!(
        shown(&holding(&Hold::None, &failed))[4],
        "RolloutPaused=False/AsExpected"
    );
    let status = holding(&Hold::Held(held.clone()), &failed);
    assert_eq!(shown(&status)[4], "RolloutPaused=True/RegressionDetected");
    assert_eq!(status.held, Some(held));
    let refused = holding(&Hold::Refused(None, "no right".to_owned()), &failed);
    assert_eq!(
        [&shown(&refused)[0], &shown(&refused)[4]],
        ["Ready=False/Forbidden", "RolloutPaused=False/AsExpected"]
    );
}

#[test]
fn a_person_who_resumed_a_deployment_is_told_of() {
    let run = after(&analysis(), &target(), &[Fail; 3]).resumed_by_user(at(200));
    let status = holding(&Hold::None, &run);
    assert_eq!(shown(&status)[4], "RolloutPaused=False/ResumedByUser");
    assert_eq!(status.resumed_revision.as_deref(), Some("bbbbbbbbbb"));
}

#[test]
fn what_is_written_is_what_is_read() {
    for outcomes in [
        &[][..],
        &[Pass],
        &[Fail, Fail, Fail],
        &[Pass, Pass, Error],
        &[NoData; 3],
    ] {
        let run = after(&analysis(), &target(), outcomes);
        let status = of(&Target::Found(target()), &run);
        assert_eq!(Run::read(&status), run, "{outcomes:?}");
    }
}

#[test]
fn a_transition_keeps_its_time_while_the_status_of_the_condition_does() {
    let first = measured_so(&target(), &[Pass]);
    let run = after(&analysis(), &target(), &[Pass, Pass]);
    let input = StatusInput {
        generation: Some(4),
        names: Some(&names(TargetKind::StreamingPipeline)),
        analysis: Ok(&analysis()),
        target: Some(&Target::Found(target())),
        run: &run,
        hold: &Hold::None,
        previous: &first,
    };
    let second = status(&input, at(5000));
    let time = |status: &RolloutAnalysisStatus| previous(status, READY).map(|ready| ready.last_transition_time.clone());
    assert_eq!(time(&second).as_deref(), Some("2026-01-01T00:16:40Z"));
    assert_eq!(time(&first), time(&second));
}

#[test]
fn what_somebody_waits_for_is_written_at_once_and_the_rest_every_five_minutes() {
    let facts = ended();
    let run = after(&analysis(), &facts, &[Pass, Pass]);
    let before = of(&Target::Found(facts.clone()), &run);
    let next = |outcome| {
        let run = run
            .clone()
            .count(&analysis(), &facts, &measured(outcome), at(90), at(90));
        of(&Target::Found(facts.clone()), &run)
    };
    let due = |next: &RolloutAnalysisStatus, second| is_write_due(&before, next, Some(at(1000)), at(second));
    assert!(!due(&before, 9000), "nothing differs");
    assert!(!due(&next(Pass), 1299), "a value and the history");
    assert!(due(&next(Pass), 1300));
    assert!(due(&next(Fail), 1001), "lastVerdict");
    assert!(due(&next(Error), 1001), "lastVerdict and a condition");
    assert!(
        is_write_due(&before, &next(Pass), None, at(1001)),
        "the first of a term"
    );
}

#[test]
fn a_write_is_due_when_the_list_of_series_changes_and_not_for_their_order() {
    let with = |series: &[&str]| {
        let mut status = measured_so(&target(), &[Pass]);
        status.metrics = vec![MetricStatus {
            name: "m".to_owned(),
            series: series.iter().map(|name| (*name).to_owned()).collect(),
            ..MetricStatus::default()
        }];
        status
    };
    let due = |next| is_write_due(&with(&["a", "b"]), &next, Some(at(1000)), at(1001));
    assert!(!due(with(&["b", "a"])));
    assert!(due(with(&["a", "c"])));
    assert!(due(with(&["a"])));
}
