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

fn failed() -> AnalysisVerdict {
    AnalysisVerdict::Failed("p99".to_owned())
}

#[test]
fn every_state_has_its_row() {
    let canary = || {
        rolling(
            wanted(2).canary(),
            vec![pod("svc-0-0", 'a'), pod("svc-canary-0-1", 'b')],
        )
    };
    let pending = || with_analysis(canary(), AnalysisVerdict::Pending("latency".to_owned()));
    let rolled_back = |scene: Scene| Scene {
        case: scene.case.annotated("streams.sentry.io/abort", "bbbbbbbbbb"),
        ..scene
    };
    let unready = || {
        vec![
            pod("svc-0-0", 'a').waits("Pending"),
            pod("svc-1-0", 'a').waits("Pending"),
        ]
    };
    let refusal = || refused(steady(wanted(2), vec![pod("svc-0-0", 'a')]));
    // State, at which second; then Ready, Progressing, Reconciling, Stalled, Available.
    let rows: [(&str, Scene, i64, &str); 20] = [
        (
            "all updated and available",
            steady(wanted(2), good()),
            5,
            "True/Ready True/NewRevisionAvailable False False True",
        ),
        (
            "rolling out",
            rolling(wanted(2), half()),
            5,
            "False/RollingOut True/RolloutProgressing True False True",
        ),
        (
            "healing",
            steady(wanted(2), vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5)]),
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
            steady(wanted(2), unready()),
            5,
            "False/Scaling True/RolloutProgressing True False False",
        ),
        (
            "gate waits for analysis",
            pending(),
            5,
            "False/AwaitingAnalysis True/AwaitingAnalysis True False True",
        ),
        (
            "paused with work left",
            rolling(wanted(2).paused(), half()),
            5,
            "False/RolloutPaused Unknown/RolloutPaused False True True",
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
            "scaled to zero, Pods left",
            steady(wanted(0), good()),
            5,
            "False/Scaling True/RolloutProgressing True False True",
        ),
        (
            "past the deadline",
            rolling(wanted(2), half()),
            600,
            "False/ProgressDeadlineExceeded False/ProgressDeadlineExceeded False True True",
        ),
        (
            "failed",
            with_analysis(rolling(wanted(2), half()), failed()),
            5,
            "False/RolloutFailed False/RolloutFailed False True True",
        ),
        (
            "rolled back",
            rolled_back(rolling(wanted(2), half())),
            5,
            "False/RolledBack False/RolledBack False True True",
        ),
        (
            "cannot render, after Ready",
            after(steady(wanted(2), good()), 1, unrendered),
            5,
            "False/RenderFailed True/NewRevisionAvailable False True True",
        ),
        (
            "cannot render, at first",
            after(steady(wanted(2), good()), 1, |scene| {
                unrendered(scene);
                scene.case.previous = recorded(Some('a'), 'a');
            }),
            5,
            "False/RenderFailed Unknown/AsExpected False True True",
        ),
        (
            "collision, in a rollout",
            after(rolling(wanted(2), half()), 1, |scene| {
                scene.case.observed.collision = Some("ns/older".to_owned())
            }),
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
            after(steady(wanted(2), good()), 1, |scene| {
                scene.case.observed = refusal().case.observed;
                scene.result = refusal().result;
            }),
            5,
            "False/ApiRejected True/NewRevisionAvailable False True True",
        ),
        (
            "deleted",
            after(steady(wanted(2), good()), 1, |scene| {
                scene.case.pipeline.deleting = true
            }),
            5,
            "False/Deleting True/RolloutProgressing True False True",
        ),
    ];
    for (state, scene, second, expected) in rows {
        assert_eq!(scene.row(second), expected, "{state}");
        let status = scene.status(second);
        assert_eq!(status.conditions.len(), 8, "{state}: all from the first visit");
        for said in &status.conditions {
            assert_eq!(said.observed_generation, Some(3), "{state}: {said:?}");
        }
    }
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
    assert!(said.contains("was refused (422): no"), "{said}");
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
        scene.case.pipeline.deleting = true
    });
    assert_eq!(kstatus(&deleted, 5), "Terminating");
}
