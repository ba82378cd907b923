//! What measurements come to, line by line of the rules.

use Outcome::{Error, Fail, NoData, Pass};

use super::super::fixtures::{after, analysis, at, ended, go_on, measured, target, unavailable};
use super::*;
use crate::api::rollout_analysis::OnNoData;

/// `failures passes verdict`.
fn shown(run: &Run) -> String {
    format!("{} {} {:?}", run.failures, run.passes, run.shown_verdict())
}

fn counted(outcomes: &[Outcome]) -> String {
    shown(&after(&analysis(), &target(), outcomes))
}

#[test]
fn passes_and_failures_add_up_whatever_lies_between() {
    assert_eq!(counted(&[]), "0 0 Measuring");
    assert_eq!(counted(&[Pass]), "0 1 Measuring");
    assert_eq!(counted(&[Fail, Pass]), "1 1 Measuring");
    assert_eq!(counted(&[Fail, Pass, Fail, Error, NoData, Fail]), "3 1 Failed");
}

#[test]
fn passes_stop_at_the_required_number() {
    assert_eq!(counted(&[Pass, Pass]), "0 2 Passed");
    assert_eq!(counted(&[Pass, Pass, Pass, Pass]), "0 2 Passed");
}

#[test]
fn the_last_allowed_failure_fails_a_revision_that_had_passed_while_it_rolls_out() {
    assert_eq!(counted(&[Pass, Pass, Fail, Fail]), "2 2 Passed");
    assert_eq!(counted(&[Pass, Pass, Fail, Fail, Fail]), "3 2 Failed");
}

#[test]
fn failed_is_latched_with_the_metric_its_value_and_its_limit() {
    let run = after(&analysis(), &target(), &[Fail, Fail, Fail, Pass, Pass, Pass, Fail]);
    assert_eq!(shown(&run), "3 0 Failed");
    let failed = run.failed.expect("a failure");
    assert_eq!(failed.message, "p99-latency = 0.31 > 0.25");
    assert_eq!(failed.time, "2026-01-01T00:01:30Z");
}

#[test]
fn an_outage_counts_nothing_at_any_stage() {
    assert_eq!(counted(&[Error, Error, Error, Error]), "0 0 Unavailable");
    assert_eq!(counted(&[Pass, Error]), "0 1 Unavailable");
    assert_eq!(counted(&[Fail, Fail, Error, Error, Error]), "2 0 Unavailable");
    assert_eq!(counted(&[Fail, Fail, Error, Pass]), "2 1 Measuring");
    assert_eq!(counted(&[Pass, Pass, Error]), "0 2 Passed");
    assert_eq!(counted(&[Fail, Fail, Fail, Error]), "3 0 Failed");
}

#[test]
fn an_outage_neither_ends_nor_lengthens_a_row_without_data() {
    let fails = ValidAnalysis {
        on_no_data: OnNoData::Fail,
        ..analysis()
    };
    let of = |outcomes: &[Outcome]| shown(&after(&fails, &target(), outcomes));
    assert_eq!(of(&[NoData, NoData, Error]), "0 0 Unavailable");
    assert_eq!(of(&[NoData, NoData, Error, NoData]), "1 0 Measuring");
    assert_eq!(of(&[NoData, NoData, Pass, NoData]), "0 1 Measuring");
}

#[test]
fn from_the_third_measurement_without_data_in_a_row_on_each_counts_as_the_spec_says() {
    let of = |on_no_data, outcomes: &[Outcome]| {
        let analysis = ValidAnalysis {
            on_no_data,
            ..analysis()
        };
        shown(&after(&analysis, &target(), outcomes))
    };
    let four = [NoData; 4];
    assert_eq!(of(OnNoData::Pause, &four), "0 0 Measuring");
    assert_eq!(of(OnNoData::Continue, &four), "0 2 Passed");
    assert_eq!(of(OnNoData::Fail, &four), "2 0 Measuring");
    assert_eq!(of(OnNoData::Fail, &[NoData; 5]), "3 0 Failed");
    assert_eq!(of(OnNoData::Continue, &four[..2]), "0 0 Measuring");
}

#[test]
fn missing_data_that_fails_a_revision_is_named() {
    let analysis = ValidAnalysis {
        on_no_data: OnNoData::Fail,
        failure_limit: 1,
        ..analysis()
    };
    let run = after(&analysis, &target(), &[NoData; 3]);
    assert_eq!(run.failed.expect("a failure").message, "p99-latency has no data");
}

#[test]
fn measurements_count_only_while_a_pod_of_the_revision_is_available() {
    let (run, _) = Run::default().enter(&analysis(), &unavailable(), false, at(0));
    assert_eq!((shown(&run).as_str(), run.started), ("0 0 Pending", None));
    let (run, _) = run.enter(&analysis(), &target(), false, at(7));
    assert_eq!((shown(&run).as_str(), run.started), ("0 0 Measuring", Some(at(7))));
    let run = run.count(&analysis(), &unavailable(), &measured(Fail), at(10), at(11));
    assert_eq!((shown(&run).as_str(), run.last), ("0 0 Measuring", Some(Fail)));
}

#[test]
fn after_the_rollout_the_verdict_stays_and_measuring_goes_on() {
    let passed = after(&analysis(), &target(), &[Pass, Pass]);
    let run = go_on(passed, &analysis(), &ended(), &[Fail, Fail, Fail, Fail]);
    assert_eq!((shown(&run).as_str(), run.measurements.len()), ("0 2 Passed", 6));
    let failed = after(&analysis(), &target(), &[Fail, Fail, Fail]);
    let run = go_on(failed, &analysis(), &ended(), &[Pass, Pass, Pass]);
    assert_eq!(shown(&run), "3 0 Failed");
}

#[test]
fn a_revision_that_had_neither_passed_nor_failed_when_its_rollout_ended_may_still_pass_and_never_fails() {
    let run = after(&analysis(), &ended(), &[Fail, Fail, Fail, Fail]);
    assert_eq!(shown(&run), "0 0 Measuring");
    let run = go_on(run, &analysis(), &ended(), &[Pass, Pass]);
    assert_eq!(shown(&run), "0 2 Passed");
}

#[test]
fn a_rollout_that_ended_does_not_begin_again_when_a_node_goes() {
    let run = after(&analysis(), &ended(), &[Pass, Pass]);
    let run = go_on(run, &analysis(), &target(), &[Fail, Fail, Fail, Fail]);
    assert_eq!(shown(&run), "0 2 Passed");
}

#[test]
fn a_regression_after_the_rollout_follows_the_last_measurements_that_had_a_value() {
    let analysis = analysis();
    let run = after(&analysis, &ended(), &[Pass, Fail, Fail]);
    assert!(!run.is_regressed(&analysis));
    let run = go_on(run, &analysis, &ended(), &[Error, Fail]);
    assert!(run.is_regressed(&analysis));
    let run = go_on(run, &analysis, &ended(), &[Error, NoData]);
    assert!(run.is_regressed(&analysis), "an outage ends no regression");
    let run = go_on(run, &analysis, &ended(), &[Pass]);
    assert!(!run.is_regressed(&analysis));
}

#[test]
fn while_it_rolls_out_a_revision_regressed_when_it_failed() {
    let analysis = analysis();
    assert!(!after(&analysis, &target(), &[Fail, Fail]).is_regressed(&analysis));
    assert!(after(&analysis, &target(), &[Fail, Pass, Fail, Fail]).is_regressed(&analysis));
}

#[test]
fn a_new_revision_a_new_attempt_and_another_target_begin_afresh() {
    let failed = || after(&analysis(), &target(), &[Fail, Fail, Fail]);
    let other = |change: fn(&mut TargetFacts)| {
        let mut target = target();
        change(&mut target);
        target
    };
    let entered = |target: &TargetFacts, again| {
        let (run, why) = failed().enter(&analysis(), target, again, at(500));
        (shown(&run), why)
    };
    let fresh = "0 0 Measuring".to_owned();
    let new = other(|target| target.revision = "cccccccccc".to_owned());
    assert_eq!(entered(&new, false), (fresh.clone(), Some(Afresh::Revision)));
    assert_eq!(entered(&target(), true), (fresh.clone(), Some(Afresh::Revision)));
    let recreated = other(|target| target.uid = "u".to_owned());
    assert_eq!(entered(&recreated, false), (fresh, Some(Afresh::Target)));
    assert_eq!(entered(&target(), false), ("3 0 Failed".to_owned(), None));
}

#[test]
fn an_outage_lasts_beyond_the_revision_and_the_target_that_it_began_with() {
    let out = || after(&analysis(), &target(), &[Fail, Error]);
    let new = TargetFacts {
        revision: "cccccccccc".to_owned(),
        ..unavailable()
    };
    let (run, _) = out().enter(&analysis(), &new, false, at(500));
    assert_eq!((shown(&run).as_str(), run.error.is_some()), ("0 0 Unavailable", true));
    assert!(out().without_target().error.is_some());
    let failed = after(&analysis(), &target(), &[Fail]).without_target();
    assert_eq!((shown(&failed).as_str(), failed.last), ("0 0 Pending", None));
}

#[test]
fn an_order_to_resume_begins_afresh_once_a_time_stamp() {
    let ordered = |second| TargetFacts {
        resume: Some(("bbbbbbbbbb".to_owned(), at(second))),
        ..target()
    };
    let failed = || after(&analysis(), &target(), &[Fail, Fail, Fail]);
    let (run, why) = failed().enter(&analysis(), &ordered(200), false, at(210));
    assert_eq!((shown(&run).as_str(), why), ("0 0 Measuring", Some(Afresh::Resumed)));
    let run = go_on(run, &analysis(), &ordered(200), &[Fail, Fail, Fail]);
    assert_eq!(shown(&run), "3 0 Failed");
    let (run, why) = run.enter(&analysis(), &ordered(200), false, at(400));
    assert_eq!((shown(&run).as_str(), why), ("3 0 Failed", None), "obeyed already");
    let (run, _) = run.enter(&analysis(), &ordered(399), false, at(400));
    assert_eq!(shown(&run), "0 0 Measuring");
}

#[test]
fn an_order_of_another_revision_of_the_future_or_from_before_the_failure_does_nothing() {
    let failed = || after(&analysis(), &target(), &[Fail, Fail, Fail]);
    let entered = |revision: &str, second| {
        let target = TargetFacts {
            resume: Some((revision.to_owned(), at(second))),
            ..target()
        };
        let (run, _) = failed().enter(&analysis(), &target, false, at(210));
        shown(&run)
    };
    assert_eq!(entered("aaaaaaaaaa", 200), "3 0 Failed");
    assert_eq!(entered("bbbbbbbbbb", 211), "3 0 Failed");
    assert_eq!(entered("bbbbbbbbbb", 89), "3 0 Failed");
    assert_eq!(entered("bbbbbbbbbb", 90), "0 0 Measuring");
}

#[test]
fn an_order_resets_the_counts_of_a_revision_that_has_not_failed_too() {
    let run = after(&analysis(), &target(), &[Fail, Fail]);
    let target = TargetFacts {
        resume: Some(("bbbbbbbbbb".to_owned(), at(100))),
        ..target()
    };
    let (run, _) = run.enter(&analysis(), &target, false, at(101));
    assert_eq!(shown(&run), "0 0 Measuring");
}

#[test]
fn an_edit_of_the_limits_leaves_the_counts_and_a_latched_verdict() {
    let edited = ValidAnalysis {
        failure_limit: 5,
        required_passes: 1,
        ..analysis()
    };
    let (run, why) = after(&analysis(), &target(), &[Fail, Fail, Fail]).enter(&edited, &target(), false, at(500));
    assert_eq!((shown(&run).as_str(), why), ("3 0 Failed", None));
    let (run, _) = after(&analysis(), &target(), &[Fail, Fail]).enter(&edited, &target(), false, at(500));
    assert_eq!(shown(&run), "2 0 Measuring");
    let run = go_on(run, &edited, &target(), &[Pass]);
    assert_eq!(shown(&run), "2 1 Passed");
}

#[test]
fn ten_measurements_are_kept_and_what_was_last_known_stays_beside_an_error() {
    let run = after(&analysis(), &target(), &[Pass; 14]);
    assert_eq!(run.measurements.len(), 10);
    let mut first = measured(Pass);
    first.metrics = vec![MetricStatus {
        name: "m".to_owned(),
        value: Some("1".to_owned()),
        ..MetricStatus::default()
    }];
    let mut second = measured(Error);
    second.metrics = vec![MetricStatus {
        name: "m".to_owned(),
        error: Some("503".to_owned()),
        ..MetricStatus::default()
    }];
    let run = run.count(&analysis(), &target(), &first, at(900), at(900));
    let run = run.count(&analysis(), &target(), &second, at(930), at(930));
    assert_eq!(run.metrics[0].value.as_deref(), Some("1"));
    assert_eq!(run.metrics[0].error.as_deref(), Some("503"));
    assert_eq!(run.worst, Some(("0.2".to_owned(), "<= 0.25".to_owned())));
}

#[test]
fn a_person_who_unpauses_lets_the_revision_begin_afresh_and_is_remembered() {
    let run = after(&analysis(), &target(), &[Fail, Fail, Fail]).resumed_by_user(at(200));
    assert_eq!(shown(&run), "0 0 Measuring");
    assert!(run.resumed_by_user);
    let (run, _) = run.enter(&analysis(), &target(), false, at(230));
    assert!(run.resumed_by_user);
    let new = TargetFacts {
        revision: "cccccccccc".to_owned(),
        ..target()
    };
    let (run, _) = run.enter(&analysis(), &new, false, at(260));
    assert!(!run.resumed_by_user, "it was said of another template");
}
