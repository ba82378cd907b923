//! A status in mid-rollout, and one that differs from it.

use super::*;
use crate::core::status::due::{Due, due};

/// In mid-rollout, a Pod of the old revision ending.
fn under_way() -> StreamingPipelineStatus {
    let mut pods = half();
    pods.push(pod("svc-0-0", 'a').terminating());
    rolling(wanted(2), pods).status(5)
}

fn changed(change: impl FnOnce(&mut StreamingPipelineStatus)) -> StreamingPipelineStatus {
    let mut status = under_way();
    change(&mut status);
    status
}

fn has_ended() -> StreamingPipelineStatus {
    let ended = rolling(wanted(2), half()).status(5);
    assert_eq!((under_way().terminating_replicas, ended.terminating_replicas), (1, 0));
    ended
}

#[test]
fn that_an_old_pod_has_ended_waits_a_second_for_what_comes_next() {
    assert_eq!(due(&under_way(), &has_ended(), None, at(10)), Due::At(at(11)));
    assert_eq!(due(&under_way(), &has_ended(), Some(at(10)), at(10)), Due::At(at(11)));
    assert_eq!(due(&under_way(), &has_ended(), Some(at(10)), at(11)), Due::Now);
    assert_eq!(
        due(&under_way(), &has_ended(), Some(at(10)), at(9)),
        Due::Now,
        "the clock was set back"
    );
}

#[test]
fn whatever_else_differs_is_written_at_once() {
    type Change = fn(&mut StreamingPipelineStatus);
    let changes: [(&str, Change); 13] = [
        ("observedGeneration", |status| status.observed_generation = Some(9)),
        ("conditions", |status| status.conditions[5].message.push('!')),
        ("config_version", |status| status.config_version = None),
        ("workload_namespace", |status| status.workload_namespace = None),
        ("replicas", |status| status.replicas = None),
        ("generations", |status| {
            status
                .generations
                .get_or_insert_default()
                .primary
                .insert("7".to_owned(), 1);
        }),
        ("pods", |status| status.pods = None),
        ("totalReplicas", |status| status.total_replicas += 1),
        ("readyReplicas", |status| status.ready_replicas += 1),
        ("updatedReplicas", |status| status.updated_replicas += 1),
        ("availableReplicas", |status| status.available_replicas += 1),
        ("currentRevision", |status| status.current_revision = None),
        ("rollout", |status| {
            status.rollout.get_or_insert_default().phase.push('!');
        }),
    ];
    for (what, change) in changes {
        let next = changed(|status| {
            status.terminating_replicas = 0;
            change(status);
        });
        assert_eq!(due(&under_way(), &next, None, at(10)), Due::Now, "{what}");
    }
}

#[test]
fn the_last_number_is_written_at_once() {
    let done = |pods| steady(wanted(2), pods).status(5);
    let mut pods = good();
    pods.push(pod("svc-0-1", 'b').terminating());
    assert_eq!(due(&done(pods), &done(good()), None, at(10)), Due::Now);
}
