use crate::api::meta::{ANNOTATION_ABORT, ANNOTATION_PROMOTE, ANNOTATION_RESUME};
use crate::api::status::FailedRevision;
use crate::core::plan::fixtures::{Case, at, observed, pod, recorded, revision, wanted};
use crate::core::plan::{FailedWhy, Phase};

fn half_way() -> Case {
    let pods = vec![
        pod("svc-0-0", 'a'),
        pod("svc-1-0", 'a'),
        pod("svc-canary-0-1", 'b').waits("Pending"),
    ];
    let mut seen = observed(pods, "ab");
    seen.revisions[0].completed = Some(at(-50));
    Case::new(
        wanted(3).canary().max_unavailable(2).revision('b'),
        seen,
        recorded(Some('a'), 'b'),
    )
}

#[test]
fn promote_opens_the_gate_for_its_revision_alone() {
    assert_eq!(half_way().actions(5), "");
    assert_eq!(
        half_way().annotated(ANNOTATION_PROMOTE, "bbbbbbbbbb").actions(5),
        "-svc-0-0 +svc-0-1=b"
    );
    assert_eq!(half_way().annotated(ANNOTATION_PROMOTE, "aaaaaaaaaa").actions(5), "");
}

#[test]
fn abort_sends_the_pods_back_whatever_on_failure_says() {
    let case = half_way().annotated(ANNOTATION_ABORT, "bbbbbbbbbb");
    assert_eq!(case.actions(5), "-svc-canary-0-1 +svc-canary-0-2=a");
    let facts = case.decide(5).facts;
    assert_eq!(
        (facts.failed.map(|failed| failed.why), facts.phase),
        (Some(FailedWhy::Aborted), Phase::RolledBack)
    );
}

#[test]
fn resume_lets_a_failed_revision_try_again_once_a_time_stamp() {
    let failed_at = |second| {
        let mut case = half_way();
        case.previous.rollout.as_mut().expect("recorded").failed_revision = Some(FailedRevision {
            name: revision('b').to_string(),
            reason: "ProgressDeadlineExceeded".to_owned(),
            time: at(second).to_string(),
        });
        let order = format!("bbbbbbbbbb@{}", at(1000));
        case.annotated(ANNOTATION_RESUME, &order).decide(1001).facts
    };
    let facts = failed_at(700);
    assert_eq!((facts.failed, facts.last_progress), (None, Some(at(1000))));
    assert!(failed_at(1001).failed.is_some(), "it failed again after the order");
}

#[test]
fn resume_sets_the_back_off_of_its_revision_to_zero() {
    let case = || {
        let mut seen = observed(vec![pod("svc-0-0", 'a').failed(5).failures(7)], "a");
        seen.revisions[0].completed = Some(at(0));
        Case::new(wanted(1), seen, recorded(Some('a'), 'a'))
    };
    assert_eq!(case().actions(20), "");
    let order = format!("aaaaaaaaaa@{}", at(19));
    assert_eq!(
        case().annotated(ANNOTATION_RESUME, &order).actions(20),
        "+svc-0-1=a -svc-0-0"
    );
}

#[test]
fn an_order_that_cannot_be_read_is_none() {
    for order in ["bbbbbbbbbb", "bbbbbbbbbb@yesterday", "@", ""] {
        assert_eq!(half_way().annotated(ANNOTATION_RESUME, order).actions(5), "", "{order}");
    }
}
