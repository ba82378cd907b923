use crate::api::NoticeReason;
use crate::api::meta::{ANNOTATION_ABORT, ANNOTATION_PROMOTE, ANNOTATION_RESUME};
use crate::api::status::{FailedRevision, RolloutHold};
use crate::core::plan::fixtures::{Case, PodBuilder, at, observed, pod, recorded, revision, wanted};
use crate::core::plan::{ActionResult, Decision, Notice, Orders, Outcome, Phase};

fn case(replicas: u16, digit: char, pods: Vec<PodBuilder>) -> Case {
    let mut seen = observed(pods, "ab");
    seen.revisions[0].completed = Some(at(-50));
    Case::new(wanted(replicas).revision(digit), seen, recorded(Some('a'), digit))
}

fn told(notices: Vec<Notice>) -> Vec<(NoticeReason, String)> {
    let told = notices.into_iter();
    told.map(|Notice { reason, message }| (reason, message)).collect()
}

/// What is told when every action is done.
fn of_actions(decision: &Decision) -> Vec<(NoticeReason, String)> {
    let results = decision.actions.iter().cloned();
    let results = results.map(|action| (action, ActionResult::Done)).collect();
    told(super::super::notices::of_outcome(&Outcome { results }))
}

fn evicted(pod: PodBuilder) -> PodBuilder {
    pod.failed(5)
        .reported_as("Evicted", "The node was low on resource: memory.")
}

impl PodBuilder {
    fn reported_as(self, reason: &str, message: &str) -> Self {
        self.with(|pod| {
            pod.health.verdict = crate::core::health::Verdict::Failed(reason.to_owned());
            pod.health.message = Some(message.to_owned());
            pod.health.disruption = reason == "Evicted";
        })
    }
}

#[test]
fn a_good_canary_and_a_persons_order_open_the_gate_in_different_words() {
    let with = |canary: PodBuilder| {
        let pods = vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a'), canary];
        let mut case = case(3, 'b', pods);
        case.wanted.with_canary = true;
        case
    };
    let good = "the canary of revision bbbbbbbbbb is good; the primary Pods follow";
    let decision = with(pod("svc-canary-0-1", 'b')).decide(5);
    assert_eq!(
        told(decision.notices),
        [(NoticeReason::CanaryPromoted, good.to_owned())]
    );
    let ordered = "a person opened the gate of revision bbbbbbbbbb (annotation streams.sentry.io/promote), however its \
                   canary is; the primary Pods follow within the budget";
    let stuck = with(pod("svc-canary-0-1", 'b').waits("ImagePullBackOff"));
    let decision = stuck.annotated(ANNOTATION_PROMOTE, "bbbbbbbbbb").decide(5);
    assert_eq!(
        told(decision.notices),
        [(NoticeReason::CanaryPromoted, ordered.to_owned())]
    );
}

#[test]
fn a_deadline_that_only_holds_is_told_once_with_the_cause_the_count_and_what_frees_it() {
    let pods = vec![
        pod("svc-0-1", 'b').reported("ImagePullBackOff", "Back-off pulling image \"x\""),
        pod("svc-1-0", 'a'),
    ];
    let mut case = case(2, 'b', pods);
    assert_eq!(told(case.decide(599).notices), []);
    let message = "Pod svc-0-1: ImagePullBackOff: Back-off pulling image \"x\"; revision bbbbbbbbbb: no progress within \
                   600 s, its Pod is unavailable; it goes on by itself when a Pod of it becomes available, or \
                   with an edit of the spec; while one is unavailable no available Pod of aaaaaaaaaa is replaced; the \
                   annotation streams.sentry.io/abort=bbbbbbbbbb goes back to aaaaaaaaaa";
    assert_eq!(
        told(case.decide(600).notices),
        [(NoticeReason::ProgressDeadlineExceeded, message.to_owned())]
    );
    case.previous.rollout.as_mut().expect("recorded").holds = vec![RolloutHold {
        by: "deadline".to_owned(),
        reason: "ProgressDeadlineExceeded".to_owned(),
        since: at(600).to_string(),
        message: "no progress within 600 s".to_owned(),
    }];
    assert_eq!(told(case.decide(700).notices), []);
}

#[test]
fn a_first_deployment_past_its_deadline_is_told_of_too() {
    let pods = vec![pod("svc-0-0", 'a').waits("CrashLoopBackOff"), pod("svc-1-0", 'a')];
    let case = Case::new(wanted(2), observed(pods, "a"), recorded(None, 'a'));
    let message = "Pod svc-0-0: CrashLoopBackOff; revision aaaaaaaaaa: no progress within 600 s, 1 of its 2 Pods is \
                   unavailable; it goes on by itself when a Pod of it becomes available, or with an edit of the spec; \
                   there is no revision to go back to";
    assert_eq!(
        told(case.decide(700).notices),
        [(NoticeReason::ProgressDeadlineExceeded, message.to_owned())]
    );
}

#[test]
fn a_replacement_is_told_with_the_cause_first_and_the_count_only_of_failures() {
    let one = |pod: PodBuilder| of_actions(&case(1, 'a', vec![pod]).decide(60));
    let failed = pod("svc-0-0", 'a').failures(1).failed(5);
    let failed = failed.reported_as("OOMKilled", "container consumer ended with exit code 137");
    let text = "OOMKilled: container consumer ended with exit code 137; Pod svc-0-0 failed (2 in a row), and Pod svc-0-1 \
                takes its place";
    assert_eq!(one(failed), [(NoticeReason::PodReplaced, text.to_owned())]);
    let text = "Evicted: The node was low on resource: memory; Pod svc-0-0 was ended for its node's sake, which counts as \
                no failure, and Pod svc-0-1 takes its place";
    let told = one(evicted(pod("svc-0-0", 'a')));
    assert_eq!(told, [(NoticeReason::PodReplaced, text.to_owned())]);
}

#[test]
fn the_words_of_a_kubelet_cut_nothing_off_that_follows_them() {
    let failed = pod("svc-0-0", 'a').failed(5).reported_as("Error", &"x".repeat(4096));
    let [(_, message)] = of_actions(&case(1, 'a', vec![failed]).decide(60))
        .try_into()
        .expect("one");
    assert!(message.len() < 1024, "{message}");
    assert!(
        message.ends_with("x…; Pod svc-0-0 failed (1 in a row), and Pod svc-0-1 takes its place"),
        "{message}"
    );
}

#[test]
fn an_eviction_in_a_hand_over_is_told_of() {
    let pods = vec![evicted(pod("svc-0-0", 'a')), pod("svc-0-1", 'b').waits("Pending")];
    let case = case(1, 'b', pods);
    assert_eq!(case.actions(60), "-svc-0-0 +svc-0-2=a");
    let text = "Evicted: The node was low on resource: memory; Pod svc-0-0 was ended for its node's sake, which counts as \
                no failure, and Pod svc-0-2 takes its place";
    assert_eq!(
        of_actions(&case.decide(60)),
        [(NoticeReason::PodReplaced, text.to_owned())]
    );
}

#[test]
fn an_abort_with_nothing_to_go_back_to_has_no_effect() {
    let without_effect = |current: Option<char>| {
        let pods = vec![pod("svc-0-0", 'b').waits("Pending")];
        let case = Case::new(wanted(1).revision('b'), observed(pods, "ab"), recorded(current, 'b'));
        let case = case.annotated(ANNOTATION_ABORT, "bbbbbbbbbb");
        Orders::read(&case.pipeline.annotations).without_effect(&case.pipeline, &case.decide(5).facts)
    };
    let sentence = "annotation streams.sentry.io/abort is ignored: no revision has completed yet to which the Pods of \
                    revision bbbbbbbbbb could go back";
    assert_eq!(without_effect(None), [sentence]);
    assert_eq!(without_effect(Some('a')), [""; 0]);
}

#[test]
fn a_resume_from_before_the_failure_has_no_effect() {
    let without_effect = |second| {
        let mut case = case(1, 'b', vec![pod("svc-0-0", 'a')]);
        case.previous.rollout.as_mut().expect("recorded").failed_revision = Some(FailedRevision {
            name: revision('b').to_string(),
            reason: "Aborted".to_owned(),
            time: at(100).to_string(),
        });
        let case = case.annotated(ANNOTATION_RESUME, &format!("bbbbbbbbbb@{}", at(second)));
        Orders::read(&case.pipeline.annotations).without_effect(&case.pipeline, &case.decide(200).facts)
    };
    let sentence = "annotation streams.sentry.io/resume is ignored: its time 2027-01-15T08:01:39Z is before the failure of \
                    revision bbbbbbbbbb at 2027-01-15T08:01:40Z";
    assert_eq!(without_effect(99), [sentence]);
    assert_eq!(without_effect(100), [""; 0]);
}

/// Revision a is current; this update revision was recorded, and these Pods are there.
fn returning(recorded_update: char, pods: Vec<PodBuilder>) -> Case {
    let mut case = case(2, 'a', pods);
    case.previous = recorded(Some('a'), recorded_update);
    case
}

fn reasons(notices: Vec<Notice>) -> Vec<NoticeReason> {
    notices.into_iter().map(|notice| notice.reason).collect()
}

#[test]
fn an_edit_back_to_the_current_revision_is_told_when_it_begins_and_when_the_pods_are_back() {
    let on_their_way = || vec![pod("svc-0-0", 'a'), pod("svc-1-2", 'a').waits("Pending")];
    let mut case = returning('b', on_their_way());
    let first = case.decide(5);
    assert_eq!(first.facts.returns_to, Some(revision('a')));
    let begins = (
        NoticeReason::RolloutStarted,
        "back to revision aaaaaaaaaa with 2 Pods".to_owned(),
    );
    assert_eq!(told(first.notices), [begins]);
    case.previous = returning('a', on_their_way()).previous;
    case.previous.rollout.as_mut().expect("recorded").returns_to = Some(revision('a').to_string());
    assert_eq!(
        case.decide(9).facts.returns_to,
        Some(revision('a')),
        "until all are there"
    );
    assert_eq!(told(case.decide(9).notices), []);
    case.observed = observed(vec![pod("svc-0-0", 'a'), pod("svc-1-2", 'a')], "ab");
    let last = case.decide(12);
    assert_eq!(last.facts.returns_to, None);
    let ends = (
        NoticeReason::RolloutCompleted,
        "all 2 Pods are of revision aaaaaaaaaa and available".to_owned(),
    );
    assert_eq!(told(last.notices), [ends]);
}

#[test]
fn the_beginning_and_the_end_of_a_rollout_are_told_with_the_number_of_pods() {
    let mut case = case(1, 'b', vec![pod("svc-0-0", 'a')]);
    case.previous = recorded(Some('a'), 'a');
    let begins = "revision bbbbbbbbbb is rolled out to 1 Pod in place of aaaaaaaaaa";
    assert_eq!(
        told(case.decide(5).notices),
        [(NoticeReason::RolloutStarted, begins.to_owned())]
    );
    case.previous = recorded(Some('a'), 'b');
    case.observed = observed(vec![pod("svc-0-1", 'b')], "ab");
    let ends = "the one Pod is of revision bbbbbbbbbb and available";
    assert_eq!(
        told(case.decide(9).notices),
        [(NoticeReason::RolloutCompleted, ends.to_owned())]
    );
}

#[test]
fn an_edit_back_before_any_pod_was_moved_begins_and_ends_at_once() {
    let case = returning('b', vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')]);
    let decision = case.decide(5);
    assert_eq!(decision.facts.returns_to, None);
    let both = [NoticeReason::RolloutStarted, NoticeReason::RolloutCompleted];
    assert_eq!(reasons(decision.notices), both);
}

#[test]
fn the_clock_of_a_return_stands_still_while_it_is_paused() {
    let mut case = returning('a', vec![pod("svc-0-0", 'a'), pod("svc-1-2", 'a').waits("Pending")]);
    case.previous.rollout.as_mut().expect("recorded").returns_to = Some(revision('a').to_string());
    assert_eq!(case.decide(700).facts.phase, Phase::Stalled);
    case.wanted.paused = true;
    case.previous.rollout.as_mut().expect("recorded").holds = vec![RolloutHold {
        by: "spec".to_owned(),
        reason: "RolloutPaused".to_owned(),
        since: at(100).to_string(),
        message: "rollout.paused is set".to_owned(),
    }];
    assert_eq!(case.decide(700).facts.phase, Phase::Paused);
    case.wanted.paused = false;
    let goes_on = case.decide(700).facts;
    assert_eq!(
        (goes_on.phase, goes_on.last_progress),
        (Phase::Progressing, Some(at(600)))
    );
}

#[test]
fn healing_is_no_return() {
    let case = returning('a', vec![pod("svc-0-0", 'a'), pod("svc-1-2", 'a').waits("Pending")]);
    assert_eq!(case.decide(5).facts.returns_to, None);
    let well = returning('a', vec![pod("svc-0-0", 'a'), pod("svc-1-2", 'a')]);
    assert_eq!(told(well.decide(9).notices), []);
}
