use super::super::fixtures::{after, analysis, at, ended, go_on, target};
use super::super::target::TargetFacts;
use super::*;
use crate::api::analysis_status::Outcome::Fail;

const OURS: &str = "streaming-operator/ra-a";

/// A Deployment that these field managers pause.
fn deployment(pausers: &[&str]) -> StoredDeployment {
    let entries: Vec<String> = pausers
        .iter()
        .map(|manager| {
            format!(r#"{{"manager":"{manager}","operation":"Apply","fieldsV1":{{"f:spec":{{"f:paused":{{}}}}}}}}"#)
        })
        .collect();
    let text = format!(
        r#"{{"metadata":{{"name":"d","uid":"t","managedFields":[{}]}},"spec":{{"paused":{},"template":{{}}}}}}"#,
        entries.join(","),
        !pausers.is_empty()
    );
    serde_json::from_str(&text).expect("a Deployment")
}

fn held() -> HeldDeployment {
    HeldDeployment {
        name: "d".to_owned(),
        uid: "t".to_owned(),
        revision: "bbbbbbbbbb".to_owned(),
    }
}

fn failed() -> Run {
    after(&analysis(), &target(), &[Fail, Fail, Fail])
}

fn step(run: &Run, pausers: &[&str], held: Option<&HeldDeployment>) -> HoldStep {
    decide("a", &analysis(), run, &deployment(pausers), held)
}

#[test]
fn a_failed_revision_is_held_while_it_rolls_out() {
    assert_eq!(step(&failed(), &[], None), HoldStep::Hold);
    assert_eq!(step(&failed(), &[OURS], Some(&held())), HoldStep::Keep);
    assert_eq!(
        step(&failed(), &[OURS], None),
        HoldStep::Keep,
        "after a crash between the two writes"
    );
    let measuring = after(&analysis(), &target(), &[Fail, Fail]);
    assert_eq!(step(&measuring, &[], None), HoldStep::Leave);
}

#[test]
fn nothing_is_held_after_the_rollout() {
    let run = go_on(after(&analysis(), &ended(), &[]), &analysis(), &target(), &[Fail; 5]);
    assert_eq!(step(&run, &[], None), HoldStep::Leave);
}

#[test]
fn an_analysis_that_only_reports_holds_nothing_and_lets_go_what_it_held_before() {
    let reports = ValidAnalysis {
        mode: AnalysisMode::ReportOnly,
        ..analysis()
    };
    assert_eq!(
        decide("a", &reports, &failed(), &deployment(&[]), None),
        HoldStep::Leave
    );
    assert_eq!(
        decide("a", &reports, &failed(), &deployment(&[OURS]), Some(&held())),
        HoldStep::Release
    );
}

#[test]
fn another_pauser_is_left_alone_and_does_not_count_for_ours() {
    let others = ["kubectl-rollout", "streaming-operator/ra-b"];
    for other in others {
        assert_eq!(step(&failed(), &[other], None), HoldStep::Hold);
        let measuring = after(&analysis(), &target(), &[]);
        assert_eq!(step(&measuring, &[other], None), HoldStep::Leave);
        assert_eq!(step(&measuring, &[other, OURS], Some(&held())), HoldStep::Release);
    }
}

#[test]
fn a_changed_template_lets_go_at_once() {
    let new = TargetFacts {
        revision: "cccccccccc".to_owned(),
        available: false,
        ..target()
    };
    let (run, _) = failed().enter(&analysis(), &new, false, at(500));
    assert_eq!(step(&run, &[OURS], Some(&held())), HoldStep::Release);
    assert_eq!(step(&run, &[], Some(&held())), HoldStep::Leave);
}

#[test]
fn a_pause_that_is_no_longer_ours_was_lifted_by_a_person_and_that_template_is_not_paused_again() {
    assert_eq!(step(&failed(), &[], Some(&held())), HoldStep::ResumedByUser);
    let resumed = failed().resumed_by_user(at(500));
    let failed_again = go_on(resumed, &analysis(), &target(), &[Fail, Fail, Fail]);
    assert_eq!(failed_again.verdict, Judgement::Failed);
    assert_eq!(step(&failed_again, &[], None), HoldStep::Leave);
}

#[test]
fn a_hold_of_an_earlier_deployment_of_the_name_or_of_an_earlier_template_is_no_pause_that_was_lifted() {
    let earlier = HeldDeployment {
        uid: "s".to_owned(),
        ..held()
    };
    assert_eq!(step(&failed(), &[], Some(&earlier)), HoldStep::Hold);
    let before = HeldDeployment {
        revision: "aaaaaaaaaa".to_owned(),
        ..held()
    };
    assert_eq!(step(&failed(), &[], Some(&before)), HoldStep::Hold);
}

#[test]
fn each_analysis_has_a_field_manager_of_its_own_from_which_it_is_known() {
    assert_eq!(field_manager("a"), OURS);
    assert_eq!(holder(OURS), Some("a"));
    assert_eq!(holder("kubectl-rollout"), None);
}
