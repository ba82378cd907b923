use crate::api::{NoticeReason, OnFailure, PodReplacementPolicy, StreamingPipelineStatus};
use crate::core::in_flight::Ledger;
use crate::core::plan::fixtures::{Case, PodBuilder, WantedBuilder, at, observed, pod, recorded, revision, wanted};
use crate::core::plan::{AnalysisVerdict, Phase};

/// Revision a is current, b is the spec's, both are stored; progress at second 0.
fn update(wanted: WantedBuilder, pods: Vec<PodBuilder>) -> Case {
    let mut seen = observed(pods, "ab");
    seen.revisions[0].completed = Some(at(-50));
    Case::new(wanted.revision('b'), seen, recorded(Some('a'), 'b'))
}

#[test]
fn an_update_takes_no_more_available_pods_than_the_budget() {
    let pods = || vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a'), pod("svc-2-0", 'a')];
    assert_eq!(update(wanted(3), pods()).actions(5), "-svc-0-0 +svc-0-1=b");
    let two = "-svc-0-0 -svc-1-0 +svc-0-1=b +svc-1-1=b";
    assert_eq!(update(wanted(3).max_unavailable(2), pods()).actions(5), two);
}

#[test]
fn a_pod_that_is_down_for_another_reason_is_moved_first_and_spends_the_budget() {
    let case = update(
        wanted(3),
        vec![
            pod("svc-0-0", 'a'),
            pod("svc-1-0", 'a'),
            pod("svc-2-0", 'a').waits("Error"),
        ],
    );
    assert_eq!(case.actions(5), "-svc-2-0 +svc-2-1=b");
}

#[test]
fn no_further_pod_goes_while_an_updated_one_is_unavailable() {
    let case = update(
        wanted(3),
        vec![
            pod("svc-0-1", 'b').waits("Pending"),
            pod("svc-1-0", 'a'),
            pod("svc-2-0", 'a'),
        ],
    );
    assert_eq!(case.actions(5), "");
}

#[test]
fn a_place_that_is_lost_while_the_new_revision_does_not_work_gets_the_current_one() {
    let case = update(
        wanted(3),
        vec![pod("svc-0-1", 'b').waits("Pending"), pod("svc-1-0", 'a')],
    );
    assert_eq!(case.actions(5), "+svc-2-0=a");
}

#[test]
fn a_pod_of_a_revision_that_is_neither_goes_at_once_when_it_does_not_work() {
    let case = update(
        wanted(3),
        vec![
            pod("svc-0-0", 'c').waits("Pending"),
            pod("svc-1-0", 'a'),
            pod("svc-2-0", 'a'),
        ],
    );
    assert_eq!(case.actions(5), "-svc-0-0 +svc-0-1=b");
}

#[test]
fn before_the_first_pod_is_replaced_its_successor_is_tried_on_the_api_server() {
    let mut case = update(wanted(2), vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')]);
    case.ledger = Ledger::default();
    assert_eq!(case.actions(5), "?svc-0-1=b");
    assert_eq!(
        case.decide(5).wake_after,
        Some(jiff::SignedDuration::ZERO),
        "the answer brings no event"
    );
    case.ledger.dry_run_refused(&revision('b'), at(5), &case.settings);
    assert_eq!(case.actions(6), "");
    assert_eq!(case.decide(6).wake_after, Some(jiff::SignedDuration::from_secs(9)));
    assert_eq!(case.actions(15), "?svc-0-1=b");
}

#[test]
fn what_is_lost_while_a_dry_run_is_refused_comes_back_as_current() {
    let mut case = update(wanted(2), vec![pod("svc-0-0", 'a')]);
    case.ledger.dry_run_refused(&revision('b'), at(5), &case.settings);
    assert_eq!(case.actions(6), "+svc-1-0=a");
}

#[test]
fn the_canary_goes_first_and_the_primaries_wait_for_it() {
    let primaries = || vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')];
    let with = |canary: PodBuilder| primaries().into_iter().chain([canary]).collect();
    let old = update(wanted(3).canary(), with(pod("svc-canary-0-0", 'a')));
    assert_eq!(old.actions(5), "-svc-canary-0-0 +svc-canary-0-1=b");
    let starting = update(wanted(3).canary(), with(pod("svc-canary-0-1", 'b').waits("Pending")));
    assert_eq!(starting.actions(5), "");
    let good = update(wanted(3).canary(), with(pod("svc-canary-0-1", 'b')));
    assert_eq!(good.actions(5), "-svc-0-0 +svc-0-1=b");
    let decision = good.decide(5);
    assert_eq!(decision.facts.gate_opened_for, Some(revision('b')));
    assert!(decision.facts_first, "the gate is recorded before a primary follows");
    assert_eq!(decision.notices[0].reason, NoticeReason::CanaryPromoted);
}

#[test]
fn the_gate_waits_for_an_analysis_that_has_not_passed() {
    let mut case = update(
        wanted(2).canary(),
        vec![pod("svc-0-0", 'a'), pod("svc-canary-0-1", 'b')],
    );
    case.analysis = AnalysisVerdict::Pending("measuring".to_owned());
    assert_eq!(
        (case.actions(5), case.decide(5).facts.phase),
        (String::new(), Phase::AwaitingAnalysis)
    );
    case.analysis = AnalysisVerdict::Passed;
    assert_eq!(case.actions(5), "-svc-0-0 +svc-0-1=b");
    case.analysis = AnalysisVerdict::None;
    case.wanted.require_analysis = true;
    assert_eq!(case.actions(5), "");
}

#[test]
fn a_rollback_is_not_gated() {
    let mut case = update(
        wanted(2).canary(),
        vec![pod("svc-0-0", 'a'), pod("svc-canary-0-1", 'b').waits("Pending")],
    );
    case.observed.revisions[1].completed = Some(at(-90));
    case.observed.pods[0].available_since = None;
    case.observed.pods[0].ready = false;
    case.wanted.max_unavailable = 2;
    assert_eq!(case.actions(5), "", "one updated Pod is unavailable already");
    case.observed.pods[1].available_since = Some(at(1));
    case.analysis = AnalysisVerdict::Pending("measuring".to_owned());
    assert_eq!(case.actions(5), "-svc-0-0 +svc-0-1=b");
}

#[test]
fn the_gate_no_longer_holds_when_no_primary_has_served_for_its_grace() {
    let canary = || pod("svc-canary-0-1", 'b').waits("Pending");
    let mut case = update(
        wanted(3).canary().max_unavailable(2),
        vec![pod("svc-0-0", 'a').waits("Pending"), canary()],
    );
    assert_eq!(case.actions(5), "+svc-1-0=a");
    assert_eq!(case.decide(5).facts.no_primary_since, Some(at(5)));
    let rollout = case.previous.rollout.as_mut().expect("recorded");
    rollout.no_primary_since = Some(at(5).to_string());
    assert_eq!(case.actions(304), "+svc-1-0=a");
    assert_eq!(case.actions(305), "-svc-0-0 +svc-0-1=b +svc-1-0=a");
}

#[test]
fn one_pod_is_handed_over_the_successor_first() {
    let old = || pod("svc-0-0", 'a');
    assert_eq!(update(wanted(1), vec![old()]).actions(5), "+svc-0-1=b");
    assert_eq!(
        update(wanted(1), vec![old(), pod("svc-0-1", 'b').waits("Pending")]).actions(5),
        ""
    );
    assert_eq!(
        update(wanted(1), vec![old(), pod("svc-0-1", 'b')]).actions(5),
        "-svc-0-0"
    );
}

#[test]
fn a_successor_that_failed_is_made_again_beside_the_old_pod_after_its_back_off() {
    let pods = || vec![pod("svc-0-0", 'a'), pod("svc-0-1", 'b').failed(5).failures(1)];
    assert_eq!(update(wanted(1), pods()).actions(14), "");
    assert_eq!(update(wanted(1), pods()).actions(15), "+svc-0-2=b!2 -svc-0-1");
}

#[test]
fn an_old_pod_that_is_lost_in_a_hand_over_comes_back_as_current() {
    let case = update(wanted(1), vec![pod("svc-0-1", 'b').waits("Pending")]);
    assert_eq!(case.actions(5), "+svc-0-2=a");
}

#[test]
fn an_identity_that_must_not_run_twice_is_replaced_with_a_gap() {
    let case = update(
        wanted(1).policy(PodReplacementPolicy::Failed),
        vec![pod("svc-0-0", 'a')],
    );
    assert_eq!(case.actions(5), "-svc-0-0");
}

#[test]
fn a_pause_holds_updates_and_heals_with_the_current_revision() {
    let case = update(
        wanted(3).paused(),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'b').failed(5)],
    );
    assert_eq!(case.actions(5), "+svc-1-1=a -svc-1-0 +svc-2-0=a");
    assert_eq!(case.decide(5).facts.phase, Phase::Paused);
}

#[test]
fn past_the_deadline_no_available_pod_is_given_up_while_an_updated_one_is_unavailable() {
    let pods = |updated: PodBuilder| vec![updated, pod("svc-1-0", 'a'), pod("svc-2-0", 'a')];
    let broken = update(wanted(3).max_unavailable(2), pods(pod("svc-0-1", 'b').waits("Pending")));
    assert_eq!(broken.actions(599), "-svc-1-0 +svc-1-1=b");
    assert_eq!(
        (broken.actions(600), broken.decide(600).facts.phase),
        (String::new(), Phase::Stalled)
    );
    let good = update(wanted(3), pods(pod("svc-0-1", 'b')));
    assert_eq!(good.actions(700), "-svc-1-0 +svc-1-1=b");
}

#[test]
fn past_the_deadline_a_rollback_goes_back_by_itself() {
    let wanted = wanted(3).with(|wanted| wanted.on_failure = OnFailure::Rollback);
    let case = update(
        wanted,
        vec![
            pod("svc-0-1", 'b').waits("Pending"),
            pod("svc-1-0", 'a'),
            pod("svc-2-0", 'a'),
        ],
    );
    assert_eq!(case.actions(600), "-svc-0-1 +svc-0-2=a");
    let decision = case.decide(600);
    assert!(decision.facts_first, "the failure is recorded before the Pods go back");
    assert_eq!(decision.facts.phase, Phase::RolledBack);
    assert_eq!(decision.notices[0].reason, NoticeReason::RolledBack);
}

#[test]
fn a_failed_analysis_holds_what_works_and_replaces_what_does_not() {
    let pods = vec![
        pod("svc-0-1", 'b'),
        pod("svc-1-1", 'b').waits("Pending"),
        pod("svc-2-0", 'a'),
    ];
    let mut case = update(wanted(3), pods);
    case.analysis = AnalysisVerdict::Failed("p99 over its limit".to_owned());
    assert_eq!(case.actions(5), "-svc-1-1 +svc-1-2=a");
    assert_eq!(case.decide(5).facts.phase, Phase::Failed);
}

#[test]
fn a_failed_revision_that_holds_where_it_stands_keeps_no_broken_pod_of_an_earlier_try() {
    let pods = vec![
        pod("svc-0-1", 'c').waits("Pending"),
        pod("svc-1-1", 'b'),
        pod("svc-2-0", 'a').waits("Pending"),
    ];
    let mut case = update(wanted(3), pods);
    case.analysis = AnalysisVerdict::Failed("p99 over its limit".to_owned());
    assert_eq!(case.actions(5), "-svc-0-1 +svc-0-2=a");
}

#[test]
fn a_rollout_completes_when_nothing_else_is_left() {
    let case = update(wanted(2), vec![pod("svc-0-1", 'b'), pod("svc-1-1", 'b')]);
    let decision = case.decide(5);
    assert_eq!(decision.facts.current_revision, Some(revision('b')));
    assert_eq!(case.actions(5), "completed:b");
    assert_eq!(decision.notices[0].reason, NoticeReason::RolloutCompleted);
    let left = update(
        wanted(2),
        vec![pod("svc-0-1", 'b'), pod("svc-1-1", 'b'), pod("svc-2-0", 'a')],
    );
    assert_eq!(left.decide(5).facts.current_revision, Some(revision('a')));
}

#[test]
fn a_spec_that_cannot_be_rendered_leaves_everything_running_and_healed() {
    let mut case = update(wanted(2), vec![pod("svc-0-0", 'a')]);
    case.wanted.revision = None;
    case.wanted.config_map = None;
    assert_eq!(case.actions(5), "+svc-1-0=a");
    assert_eq!(case.decide(5).facts.phase, Phase::Stalled);
}

#[test]
fn a_predecessors_pods_go_within_the_budget() {
    let theirs = |name| pod(name, 'b').predecessors();
    let case = Case::new(
        wanted(2).revision('b'),
        observed(vec![theirs("svc-0-4"), theirs("svc-1-4")], "b"),
        recorded(None, 'b'),
    );
    assert_eq!(case.actions(5), "-svc-0-4 +svc-0-5=b");
}

#[test]
fn a_predecessors_only_pod_is_handed_over() {
    let theirs = || pod("svc-0-4", 'b').predecessors();
    let seen = |pods| Case::new(wanted(1).revision('b'), observed(pods, "b"), recorded(None, 'b'));
    assert_eq!(seen(vec![theirs()]).actions(5), "+svc-0-5=b");
    assert_eq!(
        seen(vec![theirs(), pod("svc-0-5", 'b').waits("Pending")]).actions(5),
        ""
    );
    assert_eq!(seen(vec![theirs(), pod("svc-0-5", 'b')]).actions(5), "-svc-0-4");
}

#[test]
fn after_a_lost_status_the_revision_that_completed_last_is_current() {
    let mut case = update(wanted(2), vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')]);
    case.previous = StreamingPipelineStatus::default();
    assert_eq!(case.decide(5).facts.current_revision, Some(revision('a')));
}
