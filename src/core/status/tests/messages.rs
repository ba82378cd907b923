//! What the conditions say in words: what is waited for, what is tried next and what a person can do.

use super::*;
use crate::api::PodReplacementPolicy;
use crate::core::health::Verdict;

fn reason(scene: &Scene, second: i64) -> String {
    condition(&scene.status(second), "Ready").reason.clone()
}

fn progressing(scene: &Scene, second: i64) -> String {
    condition(&scene.status(second), "Progressing").message.clone()
}

fn stuck(name: &str, digit: char) -> PodBuilder {
    pod(name, digit).terminating().with(|pod| {
        pod.health.verdict = Verdict::Stuck;
        pod.health.report = true;
    })
}

/// The status of a pipeline of two Pods that was well at second 1.
fn was_well(mut scene: Scene) -> Scene {
    scene.case.previous = steady(wanted(2), good()).status(1);
    scene
}

#[test]
fn a_pod_that_a_person_deletes_is_healed_until_its_replacement_is_available() {
    let deleted = vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').terminating()];
    let mut scene = was_well(steady(wanted(2), deleted));
    assert_eq!(reason(&scene, 5), "Healing");
    scene.case.previous = scene.status(5);
    scene.case.observed = completed(vec![pod("svc-0-0", 'a'), pod("svc-1-1", 'a').waits("Pending")], "a");
    assert_eq!(reason(&scene, 6), "Healing");
}

#[test]
fn a_pod_that_is_no_longer_ready_is_healed_though_it_is_the_first_of_its_place() {
    let scene = was_well(steady(
        wanted(2),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').waits("NotReady")],
    ));
    assert_eq!(reason(&scene, 5), "Healing");
}

#[test]
fn a_restart_is_called_so_until_its_last_pod_is_available() {
    let restart = || wanted(2).with(|wanted| wanted.restart_at = Some(at(2)));
    let mut scene = was_well(steady(restart(), good()));
    assert_eq!(reason(&scene, 5), "Restarting");
    scene.case.previous = scene.status(5);
    let young = |name: &str| pod(name, 'a').with(|pod| pod.created = at(6));
    scene.case.observed = completed(vec![young("svc-0-1"), young("svc-1-1").waits("Pending")], "a");
    assert_eq!(reason(&scene, 7), "Restarting");
}

#[test]
fn another_number_of_pods_is_scaling_until_the_last_is_available() {
    let mut scene = was_well(steady(wanted(3), good()));
    assert_eq!(reason(&scene, 5), "Scaling");
    scene.case.previous = scene.status(5);
    let mut pods = good();
    pods.push(pod("svc-2-0", 'a').waits("Pending"));
    scene.case.observed = completed(pods, "a");
    assert_eq!(reason(&scene, 6), "Scaling");
}

#[test]
fn a_surplus_pod_that_serves_is_counted_as_ready_in_the_message_too() {
    let pods = vec![pod("svc-0-1", 'a').waits("Pending"), pod("svc-1-0", 'a')];
    let scene = steady(wanted(1), pods);
    let status = scene.status(5);
    assert_eq!((status.ready_replicas, status.available_replicas), (1, 1));
    assert_eq!(
        scene.ready(5),
        "1 of 1 pod ready, but not ordinal 0: Pending; Pod svc-1-0 is kept until then"
    );
}

#[test]
fn how_a_stuck_pod_is_released_is_said_past_the_deadline_too() {
    let kept = wanted(2).policy(PodReplacementPolicy::Failed);
    let scene = rolling(kept, vec![stuck("svc-0-0", 'a'), pod("svc-1-0", 'a')]);
    assert_eq!(reason(&scene, 600), "ProgressDeadlineExceeded");
    assert_eq!(
        scene.ready(600),
        "no progress within 600 s; 1/2 pods not ready: ordinal 0 StuckTerminating; Pod svc-0-0 does not end, and its place \
         stays empty until it has; if its node is gone for good: kubectl delete pod svc-0-0 --grace-period=0 --force"
    );
}

#[test]
fn what_only_a_person_can_help_is_said_of_a_failed_revision_too() {
    let typo = pod("svc-1-0", 'a')
        .reported("InvalidImageName", "no")
        .with(|pod| pod.health.permanent = true);
    let mut scene = rolling(wanted(2), vec![pod("svc-0-1", 'b'), typo]);
    scene.case.analysis = crate::core::plan::AnalysisVerdict::Failed("p99".to_owned());
    assert_eq!(
        scene.ready(5),
        "revision bbbbbbbbbb failed (a RolloutAnalysis failed); it holds where it stands; Pod svc-1-0 cannot start, and only \
         a mended spec helps: InvalidImageName: no"
    );
}

#[test]
fn a_successor_without_room_is_named_in_progressing_and_counts_as_not_available() {
    let successor = pod("svc-0-1", 'b').reported("Unschedulable", "0/3 nodes are available");
    let scene = rolling(wanted(1), vec![pod("svc-0-0", 'a'), successor]);
    assert_eq!(
        progressing(&scene, 5),
        "revision bbbbbbbbbb: 1 of 1 pod updated, 0 of them available; Pod svc-0-1 Unschedulable: 0/3 nodes are available"
    );
}

#[test]
fn a_crash_loop_says_how_often_it_failed_and_when_the_next_try_is() {
    let scene = steady(
        wanted(2),
        vec![pod("svc-0-0", 'a'), pod("svc-1-0", 'a').failed(5).failures(3)],
    );
    assert_eq!(
        scene.ready(10),
        "1/2 pods not ready: ordinal 1 Error; failed 4 times in a row, next try at 2027-01-15T08:00:45Z"
    );
}

#[test]
fn a_pod_that_must_end_first_is_named() {
    let pods = vec![
        pod("svc-0-1", 'b'),
        pod("svc-1-1", 'a'),
        pod("svc-1-0", 'a').terminating(),
    ];
    let scene = rolling(wanted(2), pods);
    let facts = scene.case.decide(5).facts;
    let nothing = Outcome { results: Vec::new() };
    let status = scene.of(&facts, Some(&nothing), 5);
    assert_eq!(
        condition(&status, "Ready").message,
        "1 of 2 pods updated, all ready; waits for Pod svc-1-0 to end"
    );
}

#[test]
fn what_a_pause_holds_back_is_said() {
    let restart = wanted(2).paused().with(|wanted| wanted.restart_at = Some(at(2)));
    assert_eq!(
        steady(restart, good()).ready(5),
        "rollout.paused is set: 2 pods older than restartAt are not restarted; 2 of 2 pods updated, all ready"
    );
    assert_eq!(
        rolling(wanted(2).paused(), good()).ready(5),
        "rollout.paused is set: 2 pods are not moved to revision bbbbbbbbbb; 0 of 2 pods updated, all ready"
    );
}

#[test]
fn the_full_stop_of_what_was_refused_ends_no_sentence_of_ours() {
    let broken = pod("svc-0-0", 'a').reported("InvalidImageName", "no such name.");
    let broken = broken.with(|pod| pod.health.permanent = true);
    let mut scene = steady(wanted(2), vec![broken]);
    scene.result = ActionResult::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message: "the image must be pinned.".to_owned(),
    };
    assert_eq!(
        scene.ready(5),
        "creating Pod svc-1-0 was refused (422), is tried again within 5 minutes: the image must be pinned; Pod svc-0-0 \
         cannot start, and only a mended spec helps: InvalidImageName: no such name"
    );
}
