use crate::core::plan::fixtures::{Case, PodBuilder, WantedBuilder, at, observed, pod, recorded, wanted};

fn steady(wanted: WantedBuilder, pods: Vec<PodBuilder>) -> Case {
    let mut seen = observed(pods, "a");
    seen.revisions[0].completed = Some(at(0));
    Case::new(wanted, seen, recorded(Some('a'), 'a'))
}

#[test]
fn a_scale_down_takes_the_highest_ordinals_at_once() {
    let case = steady(
        wanted(1),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a'), pod("svc-2-0", 'a')],
    );
    assert_eq!(case.actions(5), "-svc-2-0 -svc-1-0");
}

#[test]
fn a_scale_down_keeps_an_available_surplus_pod_while_the_wanted_one_does_not_serve() {
    let case = steady(
        wanted(1),
        vec![pod("svc-0-0", 'a').waits("Pending"), pod("svc-1-0", 'a')],
    );
    assert_eq!(case.actions(5), "");
}

#[test]
fn with_one_pod_wanted_the_one_that_takes_over_is_made_beside_the_surplus_pod() {
    let case = steady(wanted(1), vec![pod("svc-1-0", 'a')]);
    assert_eq!(case.actions(5), "+svc-0-0=a");
}

#[test]
fn a_scale_up_fills_the_new_places() {
    assert_eq!(
        steady(wanted(3), vec![pod("svc-0-0", 'a')]).actions(5),
        "+svc-1-0=a +svc-2-0=a"
    );
}

#[test]
fn a_suspended_pipeline_gives_up_all_its_pods_at_once() {
    let case = steady(
        wanted(2).suspend(),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(3)],
    );
    assert_eq!(case.actions(5), "-svc-0-0 -svc-1-0");
}

#[test]
fn switching_the_canary_on_moves_one_pod_and_replaces_no_other() {
    let before = steady(
        wanted(3).canary(),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a'), pod("svc-2-0", 'a')],
    );
    assert_eq!(before.actions(5), "-svc-2-0 +svc-canary-0-0=a");
}

#[test]
fn a_pod_whose_labels_name_no_place_goes_as_a_surplus_one() {
    let lost = pod("svc-5-0", 'a').with(|pod| pod.place = None);
    let case = steady(wanted(2), vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a'), lost]);
    assert_eq!(case.actions(5), "-svc-5-0");
}

#[test]
fn a_restart_replaces_older_pods_within_the_budget_with_their_own_revision() {
    let restart = |second| wanted(2).with(|wanted| wanted.restart_at = Some(at(second)));
    let pods = || vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a')];
    assert_eq!(steady(restart(-5), pods()).actions(5), "-svc-0-0 +svc-0-1=a");
    let later = steady(restart(50), pods());
    assert_eq!(
        (later.actions(5).as_str(), later.decide(5).wake_after),
        ("", Some(jiff::SignedDuration::from_secs(45)))
    );
    let young = |name| pod(name, 'a').with(|pod| pod.created = at(1));
    assert_eq!(
        steady(restart(-5), vec![young("svc-0-1"), young("svc-1-1")]).actions(5),
        ""
    );
}
