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

/// Revision b is being tried, and an order to abort it is there; `answered` says whether it was looked at before.
fn ordered_back(answered: bool) -> Case {
    let mut case = half_way().annotated(ANNOTATION_ABORT, "bbbbbbbbbb");
    let rollout = case.previous.rollout.as_mut().expect("recorded");
    rollout.answered_abort = answered.then(|| revision('b').to_string());
    case
}

fn is_aborted(case: &Case) -> bool {
    case.decide(5)
        .facts
        .failed
        .is_some_and(|failed| failed.why == FailedWhy::Aborted)
}

#[test]
fn an_abort_counts_for_the_attempt_in_which_it_is_set() {
    let mut case = ordered_back(false);
    assert!(is_aborted(&case));
    assert_eq!(case.decide(5).facts.answered_abort, Some(revision('b')));
    // The spec has come back to b after another revision: the order is of an earlier attempt.
    case.previous.update_revision = Some(revision('c').to_string());
    assert!(!is_aborted(&case));
    assert_eq!(
        case.decide(5).facts.answered_abort,
        Some(revision('b')),
        "it was looked at"
    );
    assert!(!is_aborted(&ordered_back(true)), "and does nothing in later passes");
}

#[test]
fn an_abort_that_was_taken_away_may_be_set_again() {
    let mut case = ordered_back(true);
    case.pipeline.annotations.clear();
    assert_eq!(case.decide(5).facts.answered_abort, None);
}

#[test]
fn an_abort_counts_after_a_resume_that_was_left_behind() {
    let case = ordered_back(false).annotated(ANNOTATION_RESUME, &format!("bbbbbbbbbb@{}", at(1)));
    assert!(is_aborted(&case));
}

#[test]
fn a_resume_outweighs_the_abort_before_it() {
    let mut case = ordered_back(true).annotated(ANNOTATION_RESUME, &format!("bbbbbbbbbb@{}", at(4)));
    case.previous.rollout.as_mut().expect("recorded").failed_revision = Some(FailedRevision {
        name: revision('b').to_string(),
        reason: "Aborted".to_owned(),
        time: at(2).to_string(),
    });
    assert_eq!(case.decide(5).facts.failed, None);
}

#[test]
fn after_a_lost_status_an_abort_counts() {
    let mut case = ordered_back(false);
    case.previous = crate::api::StreamingPipelineStatus::default();
    assert!(is_aborted(&case));
    let resumed = case.annotated(ANNOTATION_RESUME, &format!("bbbbbbbbbb@{}", at(4)));
    assert!(!is_aborted(&resumed), "but for one to resume, which is the later one");
}

#[test]
fn an_abort_sends_back_what_failed_and_holds_where_it_stands() {
    let mut case = ordered_back(false);
    case.previous.rollout.as_mut().expect("recorded").failed_revision = Some(FailedRevision {
        name: revision('b').to_string(),
        reason: "AnalysisFailed".to_owned(),
        time: at(2).to_string(),
    });
    assert!(is_aborted(&case));
    assert_eq!(case.decide(5).facts.phase, Phase::RolledBack);
}

#[test]
fn an_abort_that_was_left_behind_is_named_with_the_command_that_removes_it() {
    let case = ordered_back(true);
    let orders = crate::core::plan::Orders::read(&case.pipeline.annotations);
    let expected = "annotation streams.sentry.io/abort is ignored: it was left behind by an earlier attempt of revision \
                    bbbbbbbbbb. Remove it with kubectl annotate -n ns spipe pipeline streams.sentry.io/abort- and set it \
                    again to abort this one";
    assert_eq!(orders.without_effect(&case.pipeline, &case.decide(5).facts), [expected]);
}
