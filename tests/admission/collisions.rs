//! Which names meet, and who holds them, through the API server.

use serde_json::{Value, json};
use testkit::fixtures;
use testkit::wait::{self, Seen};

use crate::bed::Bed;
use crate::ways::{Sender, Way};

/// A pipeline of two segments, for its names.
fn named(name: &str, (service, pipeline, segment): (&str, &str, i64)) -> Value {
    let steps = json!({"steps_config": {"parse": {}}});
    let edit = json!({
        "service_name": service, "pipeline_name": pipeline, "segment_id": segment,
        "pipeline_config": {"pipeline": {"segments": [steps, steps]}},
    });
    fixtures::edited(name, &edit)
}

/// What the second of two in one namespace is told; `None` when it is taken.
async fn told(bed: &Bed, first: (&str, &str, i64), second: (&str, &str, i64)) -> Option<String> {
    let sender = Sender::new(bed.cluster).await;
    sender.store(&named("first", first)).await;
    let second = named("second", second);
    let refusal = sender.request(Way::Create, &second, &second).await.err()?;
    Some(refusal.text.replace(&sender.namespace, "NAMESPACE"))
}

#[tokio::test]
async fn spellings_of_one_name_meet_and_names_that_contain_each_other_do_not() {
    let bed = Bed::start().await;
    for (first, second, name) in [
        (("svc", "a.b", 0), ("svc", "a_b", 0), "svc-pipeline-a-b-0-canary"),
        (("svc", "a-b", 0), ("svc", "A.B", 0), "svc-pipeline-a-b-0-canary"),
        (
            ("a", "b-pipeline-c", 1),
            ("a-pipeline-b", "c", 1),
            "a-pipeline-b-pipeline-c-1-canary",
        ),
    ] {
        let said = told(&bed, first, second).await;
        let expected = format!(
            "StreamingPipeline.streams.sentry.io \"second\" is invalid: spec.pipeline_name: NameCollision: \
             StreamingPipeline NAMESPACE/first can have Pods or ConfigMaps named {name} in namespace NAMESPACE as well; \
             choose another pipeline_name, service_name or segment_id"
        );
        let said = said.expect("it is refused");
        assert!(said.ends_with(&expected), "{said}");
    }
    // `a-1` segment 0 is named svc-pipeline-a-1-0, and `a` segment 1 svc-pipeline-a-1: no number makes them one.
    for (first, second) in [
        (("svc", "a", 1), ("svc", "a-1", 0)),
        (("svc", "a-1", 0), ("svc", "a", 1)),
        (("svc", "a", 0), ("svc", "a", 1)),
        (("svc", "a", 0), ("svc", "a-0", 0)),
        (("svc", "a", 0), ("svc", "ab", 0)),
        (("svc", "a", 0), ("svc", "a-0-canary", 0)),
        (("svc", "a-canary", 0), ("svc", "a", 0)),
    ] {
        assert_eq!(told(&bed, first, second).await, None, "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn pipelines_of_two_namespaces_meet_only_where_they_share_a_workload_namespace() {
    // Where all share a namespace, so do the pipelines that other tests left.
    let names = ("shared", "a", 0);
    for (workload_namespace, is_refused) in [(None, false), (Some("workloads"), true)] {
        let bed = Bed::start_for(workload_namespace).await;
        let (one, other) = (Sender::new(bed.cluster).await, Sender::new(bed.cluster).await);
        one.store(&named("checkout", names)).await;
        let second = named("checkout", names);
        match other.request(Way::Create, &second, &second).await {
            Ok(_) => {
                assert!(!is_refused, "it was taken");
                other.delete("checkout").await;
            }
            Err(refusal) => {
                assert!(is_refused, "{}", refusal.text);
                let holder = format!("NameCollision: StreamingPipeline {}/checkout can have", one.namespace);
                assert!(refusal.text.contains(&holder), "{}", refusal.text);
                assert!(
                    refusal.text.contains(" in namespace workloads as well"),
                    "{}",
                    refusal.text
                );
            }
        }
        one.delete("checkout").await;
    }
}

#[tokio::test]
async fn a_pipeline_that_is_being_deleted_holds_its_names_until_it_is_gone() {
    let bed = Bed::start().await;
    let sender = Sender::new(bed.cluster).await;
    let mut first = named("first", ("svc", "a", 0));
    first["metadata"]["finalizers"] = json!(["example.com/held"]);
    sender.store(&first).await;
    sender.delete("first").await;
    let second = named("second", ("svc", "a", 0));
    let refusal = sender
        .request(Way::Create, &second, &second)
        .await
        .expect_err("the names are held");
    assert!(refusal.text.contains("NameCollision"), "{}", refusal.text);
    sender
        .merge("first", "", &json!({"metadata": {"finalizers": null}}))
        .await
        .expect("the finalizer goes");
    let taken = async || {
        let refusal = sender
            .request(Way::Create, &second, &second)
            .await
            .err()
            .map(|refusal| refusal.text);
        Ok(Seen::when(refusal, Option::is_none))
    };
    wait::until("the names to be free", wait::DEADLINE, taken)
        .await
        .expect("the second is taken");
}

#[tokio::test]
async fn the_same_pipeline_may_come_again_at_once_and_a_refused_or_dry_one_reserves_nothing() {
    let bed = Bed::start().await;
    let sender = Sender::new(bed.cluster).await;
    let first = named("first", ("svc", "a", 0));
    for _ in 0..3 {
        sender
            .request(Way::Create, &first, &first)
            .await
            .expect("its own reservation is in nobody's way");
        sender.delete("first").await;
    }
    let other = Sender::new(bed.cluster).await;
    let mut faulty = named("faulty", ("svc", "b", 0));
    faulty["spec"]["emergency_patch"] = json!({"metadata": {"name": "other"}});
    other
        .request(Way::Create, &faulty, &faulty)
        .await
        .expect_err("it is refused");
    let dry = named("dry", ("svc", "b", 0));
    other.request(Way::DryRun, &dry, &dry).await.expect("it would be taken");
    let third = named("third", ("svc", "b", 0));
    other
        .request(Way::Create, &third, &third)
        .await
        .expect("nobody holds the names");
}
