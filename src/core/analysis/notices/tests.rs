use super::super::fixtures::{after, analysis, at, ended, go_on, target};
use super::super::run::Run;
use super::super::status::{Hold, StatusInput, status};
use super::super::target::{Target, TargetFacts};
use super::*;
use crate::api::analysis_status::Outcome::{self, Error, Fail, Pass};
use crate::api::rollout_analysis::{AnalysisTarget, TargetKind};

fn of(facts: &TargetFacts, run: &Run) -> RolloutAnalysisStatus {
    let input = StatusInput {
        generation: Some(1),
        names: Some(&AnalysisTarget {
            kind: TargetKind::StreamingPipeline,
            name: "p".to_owned(),
        }),
        analysis: Ok(&analysis()),
        target: Some(&Target::Found(facts.clone())),
        run,
        hold: &Hold::None,
        previous: &RolloutAnalysisStatus::default(),
    };
    status(&input, at(0))
}

fn rolling(outcomes: &[Outcome]) -> RolloutAnalysisStatus {
    of(&target(), &after(&analysis(), &target(), outcomes))
}

/// `Reason: message`, and a star behind what is told of the target too.
fn told(before: &RolloutAnalysisStatus, now: &RolloutAnalysisStatus) -> Vec<String> {
    let told = notices(before, now).into_iter();
    told.map(|notice| {
        let star = if notice.of_target { " *" } else { "" };
        format!("{}: {}{star}", notice.reason.as_str(), notice.message)
    })
    .collect()
}

#[test]
fn a_regression_is_told_of_the_target_too_and_once() {
    let (before, now) = (rolling(&[Fail, Fail]), rolling(&[Fail, Fail, Fail]));
    let paused = "RolloutPaused: metric regression detected: p99-latency = 0.31 > 0.25 (revision bbbbbbbbbb) *";
    assert_eq!(told(&before, &now), [paused]);
    assert_eq!(told(&now, &now), Vec::<String>::new());
}

#[test]
fn an_outage_is_told_when_it_begins_and_when_it_ends_and_never_as_a_pause() {
    let (before, out, back) = (
        rolling(&[Fail, Fail]),
        rolling(&[Fail, Fail, Error]),
        rolling(&[Fail, Fail, Pass]),
    );
    assert_eq!(told(&before, &out), ["MetricsUnavailable: default answers 503"]);
    assert_eq!(told(&out, &back), ["MetricsAvailable: every metrics source answered"]);
}

#[test]
fn a_revision_that_passed_is_told() {
    assert_eq!(
        told(&rolling(&[Pass]), &rolling(&[Pass, Pass])),
        ["AnalysisPassed: 2 measurements passed (revision bbbbbbbbbb)"]
    );
}

#[test]
fn a_rollout_that_is_held_no_longer_says_why() {
    let held = rolling(&[Fail, Fail, Fail]);
    let new = TargetFacts {
        revision: "cccccccccc".to_owned(),
        ..target()
    };
    assert_eq!(
        told(&held, &of(&new, &after(&analysis(), &new, &[]))),
        ["RolloutResumed: the target is at another revision (cccccccccc) *"]
    );
    let resumed = after(&analysis(), &target(), &[Fail, Fail, Fail]).resumed_by_user(at(500));
    assert_eq!(
        told(&held, &of(&target(), &resumed)),
        ["RolloutResumed: a person resumed it (revision bbbbbbbbbb) *"]
    );
}

#[test]
fn a_regression_after_the_rollout_is_told_as_one_that_holds_nothing() {
    let run = after(&analysis(), &ended(), &[Pass, Pass, Fail, Fail]);
    let before = of(&ended(), &run);
    let run = go_on(run, &analysis(), &ended(), &[Fail]);
    let now = of(&ended(), &run);
    assert_eq!(
        told(&before, &now),
        [
            "RegressionDetected: the last 3 measurements failed; the rollout of revision bbbbbbbbbb has ended, nothing is held *"
        ]
    );
    let after = of(&ended(), &go_on(run, &analysis(), &ended(), &[Pass]));
    assert_eq!(
        told(&now, &after),
        ["RegressionEnded: the metrics hold again (revision bbbbbbbbbb) *"]
    );
}
