use crate::core::observed::{NamespaceState, Owner};
use crate::core::plan::fixtures::{Case, at, config_map, observed, pod, recorded, stored, wanted};

fn steady(stored_revisions: &str) -> Case {
    let mut seen = observed(vec![pod("svc-0-0", 'a')], stored_revisions);
    for (age, object) in (0..).zip(&mut seen.revisions) {
        object.created = at(-100 + age);
    }
    if let Some(first) = seen.revisions.first_mut() {
        first.completed = Some(at(0));
    }
    let limited = wanted(1).with(|wanted| wanted.history_limit = 2);
    Case::new(limited, seen, recorded(Some('a'), 'a'))
}

#[test]
fn the_oldest_revisions_beyond_the_history_go_with_their_configs() {
    assert_eq!(steady("abcd").actions(5), "-revision:svc-bbbbbbbbbb -map:svc-b");
    assert_eq!(steady("abc").actions(5), "");
}

#[test]
fn a_revision_that_a_pod_has_and_a_config_that_a_pod_mounts_are_kept() {
    let mut case = steady("abcd");
    case.wanted.replicas = 2;
    case.observed.pods.push(pod("svc-1-0", 'b').terminating().build());
    case.observed.pods.push(pod("svc-1-1", 'a').build());
    case.wanted.history_limit = 0;
    assert_eq!(
        case.actions(5),
        "-revision:svc-cccccccccc -revision:svc-dddddddddd -map:svc-c -map:svc-d"
    );
}

#[test]
fn a_config_that_two_revisions_share_is_kept_with_either() {
    let mut case = steady("abcd");
    case.observed.revisions[2].config_map = Some("svc-b".to_owned());
    assert_eq!(case.actions(5), "-revision:svc-bbbbbbbbbb");
}

#[test]
fn a_config_that_is_gone_is_made_again() {
    let mut case = steady("a");
    case.observed.config_maps.clear();
    assert_eq!(case.actions(5), "+map:svc-a");
}

#[test]
fn a_predecessors_config_gives_way_just_before_the_first_pod_that_mounts_ours() {
    let mut case = steady("a");
    case.observed.config_maps = vec![config_map('a')];
    case.observed.config_maps[0].owner = Owner::Predecessor;
    assert_eq!(case.actions(5), "", "the running Pod keeps what it has mounted");
    case.observed.pods.clear();
    assert_eq!(case.actions(5), "-map:svc-a +map:svc-a +svc-0-1=a");
}

#[test]
fn a_predecessors_revision_under_our_name_gives_way() {
    let mut case = steady("");
    case.observed.config_maps = vec![config_map('a')];
    case.observed.revisions = vec![stored('a')];
    case.observed.revisions[0].owner = Owner::Predecessor;
    assert_eq!(case.actions(5), "-revision:svc-aaaaaaaaaa +revision:svc-aaaaaaaaaa");
}

#[test]
fn a_revision_that_completed_again_is_marked_as_the_latest() {
    let mut case = steady("ab");
    case.observed.revisions[1].completed = Some(at(1));
    assert_eq!(case.actions(5), "completed:a");
}

#[test]
fn in_another_namespace_the_finalizer_comes_before_everything() {
    let mut case = steady("");
    case.observed.pods.clear();
    case.observed.revisions.clear();
    case.pipeline.workload_namespace = "workloads".to_owned();
    assert_eq!(
        case.actions(5),
        "+finalizer +revision:svc-aaaaaaaaaa +map:svc-a +svc-0-1=a"
    );
}

#[test]
fn a_deleted_pipeline_holds_on_until_its_other_namespace_is_empty() {
    let mut case = steady("a");
    case.pipeline.deleting = true;
    assert_eq!(
        case.actions(5),
        "",
        "in its own namespace the garbage collector does it"
    );
    case.pipeline.workload_namespace = "workloads".to_owned();
    case.pipeline.has_finalizer = true;
    assert_eq!(case.actions(5), "-svc-0-0 -map:svc-a");
    let mut gone = case.observed.clone();
    gone.namespace = NamespaceState::Missing;
    let emptied = observed(vec![], "");
    for seen in [gone, emptied] {
        case.observed = seen;
        assert_eq!(case.actions(5), "-finalizer");
    }
}

#[test]
fn a_deleted_pipeline_waits_for_a_pod_whose_create_got_no_answer() {
    let unknown = pod("svc-1-0", 'a').waits("Pending").with(|pod| pod.uid = String::new());
    let mut case = steady("a");
    case.observed.pods.push(unknown.build());
    case.pipeline.deleting = true;
    case.pipeline.workload_namespace = "workloads".to_owned();
    case.pipeline.has_finalizer = true;
    assert_eq!(case.actions(5), "-svc-0-0 -map:svc-a");
}

#[test]
fn in_a_namespace_that_is_not_there_nothing_is_made_and_it_is_looked_at_again() {
    let mut case = steady("a");
    case.observed.pods.clear();
    for state in [NamespaceState::Terminating, NamespaceState::Missing] {
        case.observed.namespace = state;
        assert_eq!(case.actions(5), "");
        assert_eq!(
            case.decide(5).wake_after,
            Some(jiff::SignedDuration::from_secs(30)),
            "no event tells that it is there again"
        );
    }
}
