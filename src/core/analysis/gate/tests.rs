use super::super::fixtures::{after, analysis, at, target};
use super::super::status::{Hold, StatusInput, status};
use super::super::target::{Target, TargetFacts};
use super::*;
use crate::api::analysis_status::Outcome::{self, Error, Fail, NoData, Pass};

fn question() -> Question<'static> {
    Question {
        uid: "t",
        revision: "bbbbbbbbbb",
        resume: None,
        now: at(10_000),
    }
}

/// The status of an analysis after measurements of a target with these outcomes.
fn status_of(target: &TargetFacts, outcomes: &[Outcome]) -> RolloutAnalysisStatus {
    let (analysis, run) = (analysis(), after(&analysis(), target, outcomes));
    let input = StatusInput {
        generation: Some(1),
        names: None,
        analysis: Ok(&analysis),
        target: Some(&Target::Found(target.clone())),
        run: &run,
        hold: &Hold::None,
        previous: &RolloutAnalysisStatus::default(),
    };
    status(&input, at(60))
}

fn of(outcomes: &[Outcome]) -> RolloutAnalysisStatus {
    status_of(&target(), outcomes)
}

fn guard<'a>(analysis: &'a ValidAnalysis, status: &'a RolloutAnalysisStatus) -> Guard<'a> {
    Guard {
        name: "checkout",
        analysis: Some(analysis),
        status,
        is_behind: false,
    }
}

fn said(status: &RolloutAnalysisStatus) -> AnalysisVerdict {
    verdict(&[guard(&analysis(), status)], &question())
}

fn pending(message: &str) -> AnalysisVerdict {
    AnalysisVerdict::Pending(message.to_owned())
}

#[test]
fn without_an_analysis_nobody_has_a_say() {
    assert_eq!(verdict(&[], &question()), AnalysisVerdict::None);
}

#[test]
fn one_says_how_far_it_is() {
    assert_eq!(said(&of(&[])), pending("analysis checkout has 0 of 2 passes"));
    assert_eq!(said(&of(&[Pass])), pending("analysis checkout has 1 of 2 passes"));
    assert_eq!(said(&of(&[Pass, Pass])), AnalysisVerdict::Passed);
    assert_eq!(
        said(&of(&[Fail, Fail, Fail])),
        AnalysisVerdict::Failed("analysis checkout: metric regression detected: p99-latency = 0.31 > 0.25".to_owned())
    );
}

#[test]
fn an_outage_keeps_a_gate_shut_that_is_not_open_and_says_since_when() {
    assert_eq!(
        said(&of(&[Pass, Error])),
        pending(
            "analysis checkout has 1 of 2 passes; metrics unavailable since 2026-01-01T00:01:00Z: default answers 503"
        )
    );
    assert_eq!(said(&of(&[Pass, Pass, Error])), AnalysisVerdict::Passed);
}

#[test]
fn metrics_without_data_keep_it_shut() {
    assert_eq!(
        said(&of(&[NoData, NoData, NoData])),
        pending("analysis checkout has 0 of 2 passes; its metrics have no data")
    );
}

#[test]
fn one_that_only_reports_has_no_say() {
    let reports = ValidAnalysis {
        mode: AnalysisMode::ReportOnly,
        ..analysis()
    };
    let failed = of(&[Fail, Fail, Fail]);
    assert_eq!(verdict(&[guard(&reports, &failed)], &question()), AnalysisVerdict::None);
}

#[test]
fn of_several_a_failed_one_outweighs_all_and_one_that_waits_those_that_passed() {
    let analysis = analysis();
    let (passed, waits, failed) = (of(&[Pass, Pass]), of(&[Pass]), of(&[Fail, Fail, Fail]));
    let all = |statuses: &[&RolloutAnalysisStatus]| {
        let guards: Vec<_> = statuses.iter().map(|status| guard(&analysis, status)).collect();
        verdict(&guards, &question())
    };
    assert_eq!(all(&[&passed, &passed]), AnalysisVerdict::Passed);
    assert_eq!(all(&[&passed, &waits]), pending("analysis checkout has 1 of 2 passes"));
    assert!(matches!(all(&[&waits, &failed, &passed]), AnalysisVerdict::Failed(_)));
}

#[test]
fn what_was_said_of_another_revision_another_target_or_an_earlier_attempt_is_no_word_on_this() {
    let waits = pending("analysis checkout has not begun to measure revision bbbbbbbbbb");
    let other = |change: fn(&mut TargetFacts)| {
        let mut target = target();
        change(&mut target);
        target
    };
    let of_another = other(|target| target.revision = "aaaaaaaaaa".to_owned());
    assert_eq!(said(&status_of(&of_another, &[Pass, Pass])), waits);
    let of_a_predecessor = other(|target| target.uid = "s".to_owned());
    assert_eq!(said(&status_of(&of_a_predecessor, &[Fail, Fail, Fail])), waits);
    let (analysis, failed) = (analysis(), of(&[Fail, Fail, Fail]));
    let behind = Guard {
        is_behind: true,
        ..guard(&analysis, &failed)
    };
    assert_eq!(verdict(&[behind], &question()), waits);
    assert_eq!(said(&RolloutAnalysisStatus::default()), waits);
}

#[test]
fn a_failure_is_over_from_the_order_to_resume_on_even_before_the_analysis_has_obeyed_it() {
    let (analysis, failed) = (analysis(), of(&[Fail, Fail, Fail]));
    let ordered = |second| {
        let question = Question {
            resume: Some(("bbbbbbbbbb", at(second))),
            ..question()
        };
        verdict(&[guard(&analysis, &failed)], &question)
    };
    assert!(matches!(ordered(200), AnalysisVerdict::Pending(_)));
    assert!(
        matches!(ordered(50), AnalysisVerdict::Failed(_)),
        "from before the failure"
    );
    assert!(matches!(ordered(99_999), AnalysisVerdict::Failed(_)), "of the future");
}

#[test]
fn a_spec_that_cannot_be_used_keeps_the_gate_shut() {
    let (analysis, none) = (analysis(), RolloutAnalysisStatus::default());
    let unusable = Guard {
        analysis: None,
        ..guard(&analysis, &none)
    };
    let said = verdict(&[unusable], &question());
    assert_eq!(said, pending("analysis checkout has a spec that cannot be used"));
}

#[test]
fn a_pipeline_is_looked_at_when_an_analysis_may_say_otherwise_and_not_for_a_value() {
    assert!(may_say_otherwise(&of(&[Pass]), &of(&[Pass, Pass])));
    assert!(may_say_otherwise(&of(&[Pass]), &of(&[Pass, Error])));
    let mut other_value = of(&[Pass]);
    other_value.value = Some("0.17".to_owned());
    assert!(!may_say_otherwise(&of(&[Pass]), &other_value));
}
