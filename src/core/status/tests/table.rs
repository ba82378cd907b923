//! The truth table of the conditions, as docs/rollouts.md has it: one row a state.

use super::*;
use crate::core::plan::AnalysisVerdict;

fn with_analysis(mut scene: Scene, verdict: AnalysisVerdict) -> Scene {
    scene.case.analysis = verdict;
    scene
}

fn refused(mut scene: Scene) -> Scene {
    scene.result = ActionResult::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message: "no".to_owned(),
    };
    scene
}

/// The status of the pass before: what is "unchanged" is seen only after one.
fn after(mut before: Scene, second: i64, change: impl FnOnce(&mut Scene)) -> Scene {
    before.case.previous = before.status(second);
    change(&mut before);
    before
}

fn unrendered(scene: &mut Scene) {
    scene.faults = vec!["spec.segment_id: there are 2 segments".to_owned()];
    scene.case.wanted.revision = None;
    scene.case.wanted.config_map = None;
}

/// A state, the second at which it is looked at; then Ready, Progressing, Reconciling, Stalled, Available.
type Row = (&'static str, Scene, i64, &'static str);

fn each_is_as_said(rows: Vec<Row>) {
    for (state, scene, second, expected) in rows {
        assert_eq!(scene.row(second), expected, "{state}");
        let status = scene.status(second);
        assert_eq!(status.conditions.len(), 8, "{state}: all from the first visit");
        for said in &status.conditions {
            assert_eq!(said.observed_generation, Some(3), "{state}: {said:?}");
        }
    }
}

#[test]
fn what_is_done_or_under_way_has_its_row() {
    let lost = vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5)];
    let unready = vec![
        pod("svc-0-0", 'a').waits("Pending"),
        pod("svc-1-0", 'a').waits("Pending"),
    ];
    let canary = vec![pod("svc-0-0", 'a'), pod("svc-canary-0-1", 'b')];
    let pending = AnalysisVerdict::Pending("latency".to_owned());
    let pending = with_analysis(rolling(wanted(2).canary(), canary), pending);
    let deleted = after(steady(wanted(2), good()), 1, |scene| {
        scene.case.pipeline.deleting = true;
    });
    each_is_as_said(vec![
        (
            "all updated and available",
            steady(wanted(2), good()),
            5,
            "True/Ready True/NewRevisionAvailable False False True",
        ),
        (
            "paused, nothing to do",
            steady(wanted(2).paused(), good()),
            5,
            "True/Ready True/NewRevisionAvailable False False True",
        ),
        (
            "suspended",
            steady(wanted(2).suspend(), vec![]),
            5,
            "True/Suspended True/Suspended False False True",
        ),
        (
            "scaled to zero",
            steady(wanted(0), vec![]),
            5,
            "True/ScaledToZero True/ScaledToZero False False True",
        ),
        (
            "Pods left",
            steady(wanted(0), good()),
            5,
            "False/Scaling True/RolloutProgressing True False True",
        ),
        (
            "rolling out",
            rolling(wanted(2), half()),
            5,
            "False/RollingOut True/RolloutProgressing True False True",
        ),
        (
            "healing",
            steady(wanted(2), lost),
            5,
            "False/Healing True/RolloutProgressing True False True",
        ),
        (
            "scaling",
            steady(wanted(3), good()),
            5,
            "False/Scaling True/RolloutProgressing True False True",
        ),
        (
            "too few Pods",
            steady(wanted(2), unready),
            5,
            "False/Scaling True/RolloutProgressing True False False",
        ),
        (
            "gate waits for analysis",
            pending,
            5,
            "False/AwaitingAnalysis True/AwaitingAnalysis True False True",
        ),
        (
            "deleted",
            deleted,
            5,
            "False/Deleting True/RolloutProgressing True False True",
        ),
    ]);
}

#[test]
fn what_is_held_has_its_row() {
    let failed = with_analysis(rolling(wanted(2), half()), AnalysisVerdict::Failed("p99".to_owned()));
    let mut rolled_back = rolling(wanted(2), half());
    rolled_back.case = rolled_back.case.annotated("streams.sentry.io/abort", "bbbbbbbbbb");
    each_is_as_said(vec![
        (
            "paused with work left",
            rolling(wanted(2).paused(), half()),
            5,
            "False/RolloutPaused Unknown/RolloutPaused False True True",
        ),
        (
            "past the deadline",
            rolling(wanted(2), half()),
            600,
            "False/ProgressDeadlineExceeded False/ProgressDeadlineExceeded False True True",
        ),
        (
            "failed",
            failed,
            5,
            "False/RolloutFailed False/RolloutFailed False True True",
        ),
        (
            "rolled back",
            rolled_back,
            5,
            "False/RolledBack False/RolledBack False True True",
        ),
    ]);
}

#[test]
fn what_cannot_be_written_has_its_row_and_leaves_progressing_as_it_was() {
    let refusal = || refused(steady(wanted(2), vec![pod("svc-0-0", 'a')]));
    let never_seen = after(steady(wanted(2), good()), 1, |scene| {
        unrendered(scene);
        scene.case.previous = recorded(Some('a'), 'a');
    });
    let taken = after(rolling(wanted(2), half()), 1, |scene| {
        scene.case.observed.collision = Some("ns/older".to_owned());
    });
    let refused_later = after(steady(wanted(2), good()), 1, |scene| {
        scene.case.observed = refusal().case.observed;
        scene.result = refusal().result;
    });
    let unrendered = after(steady(wanted(2), good()), 1, unrendered);
    each_is_as_said(vec![
        (
            "cannot render, after Ready",
            unrendered,
            5,
            "False/RenderFailed True/NewRevisionAvailable False True True",
        ),
        (
            "cannot render, at first",
            never_seen,
            5,
            "False/RenderFailed Unknown/AsExpected False True True",
        ),
        (
            "names taken, in a rollout",
            taken,
            5,
            "False/NameCollision True/RolloutProgressing False True True",
        ),
        (
            "refused, at first",
            refusal(),
            5,
            "False/ApiRejected True/RolloutProgressing False True True",
        ),
        (
            "refused, after Ready",
            refused_later,
            5,
            "False/ApiRejected True/NewRevisionAvailable False True True",
        ),
    ]);
}

// A quota that refuses the second Pod of a hand-over does not stop the clock.
#[test]
fn a_refusal_does_not_hide_that_time_ran_out() {
    let scene = refused(rolling(wanted(1), vec![pod("svc-0-0", 'a')]));
    assert_eq!(
        scene.row(600),
        "False/ApiRejected False/ProgressDeadlineExceeded False True True"
    );
    let said = condition(&scene.status(600), "Progressing").message.clone();
    assert!(
        said.contains("was refused (422), is tried again within 5 minutes: no"),
        "{said}"
    );
}

/// What kstatus (sigs.k8s.io/cli-utils, pkg/kstatus/status) makes of an object with conditions, by its rules in their
/// order: Helm, Flux and Argo CD read pipelines so.
fn kstatus(scene: &Scene, second: i64) -> &'static str {
    let status = scene.status(second);
    let is = |type_: &str, wanted: &str| condition(&status, type_).status == wanted;
    if scene.case.pipeline.deleting {
        "Terminating"
    } else if status.observed_generation != scene.case.pipeline.generation || is("Reconciling", "True") {
        "InProgress"
    } else if is("Stalled", "True") {
        "Failed"
    } else if is("Ready", "True") {
        "Current"
    } else {
        "InProgress"
    }
}

#[test]
fn who_reads_the_conditions_as_kstatus_does_is_told_the_same() {
    assert_eq!(kstatus(&steady(wanted(2), good()), 5), "Current");
    assert_eq!(kstatus(&steady(wanted(2).suspend(), vec![]), 5), "Current");
    assert_eq!(kstatus(&rolling(wanted(2), half()), 5), "InProgress");
    assert_eq!(kstatus(&rolling(wanted(2).paused(), half()), 5), "Failed");
    assert_eq!(kstatus(&rolling(wanted(2), half()), 600), "Failed");
    assert_eq!(kstatus(&refused(steady(wanted(3), good())), 5), "Failed");
    let unrendered = after(steady(wanted(2), good()), 1, unrendered);
    assert_eq!(kstatus(&unrendered, 5), "Failed");
    let deleted = after(steady(wanted(2), good()), 1, |scene| {
        scene.case.pipeline.deleting = true;
    });
    assert_eq!(kstatus(&deleted, 5), "Terminating");
}
