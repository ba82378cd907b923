use super::*;
use crate::core::plan::fixtures::{pod, recorded};

/// A pipeline whose spec is of revision `update`, and on which a person resumed `b`.
fn pipeline(update: char, current: Option<char>) -> StoredPipeline {
    let text = r#"{"metadata":{"name":"p","uid":"t","annotations":{
        "streams.sentry.io/resume":"bbbbbbbbbb@2026-01-01T00:00:07Z"}},"spec":{}}"#;
    let mut stored: StoredPipeline = serde_json::from_str(text).expect("a pipeline");
    stored.status = recorded(current, update);
    stored
}

fn pods() -> Vec<PodFacts> {
    let not_available = |pod: &mut PodFacts| pod.available_since = None;
    vec![
        pod("canary-0-2", 'b').build(),
        pod("primary-0-1", 'a').build(),
        pod("primary-1-1", 'a').terminating().build(),
        pod("primary-2-2", 'b').with(not_available).build(),
        pod("primary-3-1", 'c').build(),
        pod("primary-4-1", 'b').predecessors().build(),
    ]
}

#[test]
fn pods_are_told_apart_by_their_revision_and_none_that_ends_or_is_anothers_counts() {
    let facts = facts(&pipeline('b', Some('a')), &pods()).expect("facts");
    assert_eq!((facts.uid.as_str(), facts.revision.as_str()), ("t", "bbbbbbbbbb"));
    assert_eq!(facts.updated_pods.len(), 2, "{:?}", facts.updated_pods);
    assert_eq!(facts.current_pods.len(), 1, "{:?}", facts.current_pods);
    assert!(facts.rolling && facts.can_hold && facts.available);
    let (revision, time) = facts.resume.expect("an order");
    assert_eq!((revision.as_str(), time.as_second()), ("bbbbbbbbbb", 1_767_225_607));
}

#[test]
fn a_pod_that_is_not_available_lets_nothing_be_measured() {
    let not_available = vec![pod("canary-0-2", 'b').with(|pod| pod.available_since = None).build()];
    assert!(
        !facts(&pipeline('b', Some('a')), &not_available)
            .expect("facts")
            .available
    );
}

#[test]
fn a_revision_that_completed_rolls_out_no_more_and_the_first_has_nothing_to_hold_on_to() {
    let done = facts(&pipeline('b', Some('b')), &pods()).expect("facts");
    assert!(!done.rolling && !done.can_hold);
    let first = facts(&pipeline('b', None), &pods()).expect("facts");
    assert!(first.rolling && !first.can_hold && first.current_pods.is_empty());
}

#[test]
fn a_pipeline_that_no_pass_has_looked_at_has_nothing_to_measure() {
    let mut pipeline = pipeline('b', None);
    pipeline.status.update_revision = None;
    assert_eq!(facts(&pipeline, &pods()), None);
}
