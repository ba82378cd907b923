use futures::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};

use super::*;
use crate::telemetry::Metrics;

fn stored(name: &str, target: &str, change: impl FnOnce(&mut Value)) -> StoredAnalysis {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "generation": 1, "resourceVersion": "1"},
        "spec": {"target": {"kind": "StreamingPipeline", "name": target}, "metrics": []},
    });
    change(&mut object);
    serde_json::from_value(object).expect("anything can be read")
}

fn analyses() -> (Analyses, Triggers) {
    let pipelines = Triggers::new(Metrics::new("0", "test", false));
    (Analyses::new(&[], pipelines.clone()), pipelines)
}

fn listed(analyses: &Analyses, all: Vec<StoredAnalysis>) {
    analyses.take(&Scope::All, Event::Init);
    for analysis in all {
        analyses.take(&Scope::All, Event::InitApply(analysis));
    }
    analyses.take(&Scope::All, Event::InitDone);
}

fn of(analyses: &Analyses, target: &str) -> Vec<String> {
    let found = analyses.of_target("ns", TargetKind::StreamingPipeline, target);
    found
        .iter()
        .filter_map(|analysis| analysis.metadata.name.clone())
        .collect()
}

#[test]
fn analyses_are_found_by_their_target_and_those_on_their_way_out_are_not() {
    let (analyses, _) = analyses();
    listed(
        &analyses,
        vec![
            stored("a", "p", |_| {}),
            stored("b", "p", |_| {}),
            stored("c", "q", |_| {}),
        ],
    );
    assert_eq!(of(&analyses, "p"), ["a", "b"]);
    analyses.take(&Scope::All, Event::Apply(stored("a", "q", |_| {})));
    assert_eq!(
        (of(&analyses, "p"), of(&analyses, "q")),
        (vec!["b".to_owned()], vec!["a".to_owned(), "c".to_owned()])
    );
    let deleted = stored("b", "p", |a| {
        a["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    analyses.take(&Scope::All, Event::Apply(deleted));
    assert!(of(&analyses, "p").is_empty());
    analyses.take(&Scope::All, Event::Delete(stored("c", "q", |_| {})));
    assert_eq!(of(&analyses, "q"), ["a"]);
}

#[test]
fn none_are_known_before_they_have_been_listed() {
    let (analyses, _) = analyses();
    assert!(!*analyses.synced().borrow());
    listed(&analyses, vec![]);
    assert!(*analyses.synced().borrow());
}

#[test]
fn an_own_write_is_shown_before_the_watch_brings_it_and_what_another_wrote_later_after() {
    let (analyses, _) = analyses();
    let before = stored("a", "p", |_| {});
    listed(&analyses, vec![before.clone()]);
    let written = stored("a", "p", |a| {
        a["metadata"]["resourceVersion"] = json!("2");
        a["status"] = json!({"passes": 1});
    });
    analyses.wrote(&before, &Arc::new(written));
    let passes = || {
        analyses.of_target("ns", TargetKind::StreamingPipeline, "p")[0]
            .status
            .passes
    };
    assert_eq!(passes(), 1);
    let later = stored("a", "p", |a| {
        a["metadata"]["resourceVersion"] = json!("3");
        a["status"] = json!({"passes": 7});
    });
    analyses.take(&Scope::All, Event::Apply(later));
    assert_eq!(passes(), 7);
}

#[test]
fn a_pipeline_is_called_for_when_its_analysis_comes_goes_passes_or_is_edited_and_not_for_a_value() {
    let (analyses, pipelines) = analyses();
    listed(&analyses, vec![]);
    let mut read = pipelines.read();
    let mut called = |event| {
        analyses.take(&Scope::All, event);
        std::iter::from_fn(|| read.next().now_or_never().flatten()).count()
    };
    assert_eq!(called(Event::Apply(stored("a", "p", |_| {}))), 1, "it comes");
    assert_eq!(
        called(Event::Apply(stored("a", "p", |a| a["status"] = json!({"value": "3"})))),
        0,
        "a value"
    );
    assert_eq!(
        called(Event::Apply(stored("a", "p", |a| a["status"] = json!({"passes": 3})))),
        1,
        "a pass"
    );
    assert_eq!(
        called(Event::Apply(
            stored("a", "p", |a| a["metadata"]["generation"] = json!(2))
        )),
        1,
        "an edit"
    );
    assert_eq!(
        called(Event::Apply(
            stored("a", "q", |a| a["metadata"]["generation"] = json!(3))
        )),
        2,
        "re-targeted"
    );
    assert_eq!(called(Event::Delete(stored("a", "q", |_| {}))), 1, "it goes");
}

#[test]
fn an_edit_ends_a_measurement_and_an_own_write_does_not() {
    let (analyses, _) = analyses();
    listed(&analyses, vec![stored("a", "p", |_| {})]);
    let id = PipelineId {
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
    };
    let measuring = analyses.measuring(&id);
    analyses.take(
        &Scope::All,
        Event::Apply(stored("a", "p", |a| a["status"] = json!({"passes": 3}))),
    );
    assert!(measuring.notified().now_or_never().is_none());
    analyses.take(
        &Scope::All,
        Event::Apply(stored("a", "p", |a| a["metadata"]["generation"] = json!(2))),
    );
    assert!(measuring.notified().now_or_never().is_some());
}

#[test]
fn with_a_new_attempt_of_their_pipeline_all_are_behind_until_each_has_begun() {
    let (analyses, _) = analyses();
    listed(
        &analyses,
        vec![
            stored("a", "p", |_| {}),
            stored("b", "p", |_| {}),
            stored("c", "q", |_| {}),
        ],
    );
    analyses.new_attempt(&PipelineId {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
    });
    assert_eq!(["a", "b", "c"].map(|uid| analyses.is_behind(uid)), [true, true, false]);
    analyses.caught_up("a");
    assert!(!analyses.is_behind("a") && analyses.is_behind("b"));
}
