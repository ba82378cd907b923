//! Many pipelines that roll at once: every one finishes, none waits for another, and what it costs.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use testkit::audit::Record;

use super::bed::{Bed, pipeline};

const REPLICAS: usize = 3;

/// How many pipelines; `STREAMS_TEST_ROLLOUTS=100` is the long form.
fn pipelines() -> usize {
    let number = std::env::var("STREAMS_TEST_ROLLOUTS").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(20)
}

/// When a pipeline was edited, and the first and the last write of its Pods after that.
struct Rollout {
    edited: Timestamp,
    first: Timestamp,
    last: Timestamp,
}

/// The pipeline that a Pod belongs to, by its name: `svc-pipeline-{name}-0-{ordinal}-{generation}`.
fn of_pod(name: &str) -> &str {
    let rest = name.strip_prefix("svc-pipeline-").unwrap();
    rest.split('-').next().unwrap()
}

fn rollouts(edits: &[Record], pod_writes: &[&Record]) -> BTreeMap<String, Rollout> {
    let of = |edit: &Record| {
        let name = &edit.name;
        let own = pod_writes.iter().filter(|write| of_pod(name_of(write)) == name);
        let times: Vec<Timestamp> = own.map(|write| write.received).collect();
        let rollout = Rollout {
            edited: edit.answered,
            first: *times.iter().min().unwrap(),
            last: *times.iter().max().unwrap(),
        };
        (name.clone(), rollout)
    };
    edits.iter().map(of).collect()
}

/// A create has no name in its path.
fn name_of(record: &Record) -> &str {
    let body = || record.body.as_ref()?.pointer("/metadata/name")?.as_str();
    if record.name.is_empty() {
        body().unwrap()
    } else {
        &record.name
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_one_of_many_rollouts_begins_before_a_later_one_has_ended_and_writes_little() {
    let count = pipelines();
    let bed = Bed::start("many", &[]).await;
    let named = |tag: u8| -> Vec<Value> {
        let one = |number: usize| {
            let mut pipeline = pipeline(&bed.namespace, &format!("p{number}"), u16::try_from(REPLICAS).unwrap());
            pipeline["spec"]["image_name"] = json!(format!("registry.example/consumer:{tag}"));
            pipeline
        };
        (0..count).map(one).collect()
    };
    bed.apply(&named(1)).await;
    for number in 0..count {
        bed.until_ready(&format!("p{number}")).await;
    }
    let mark = bed.mark().await;
    let began = std::time::Instant::now();
    bed.apply(&named(2)).await;
    for number in 0..count {
        let done = bed.until_ready(&format!("p{number}")).await;
        assert_eq!(done["status"]["updatedReplicas"], json!(REPLICAS));
    }
    let took = began.elapsed();

    let mut edits = bed.cluster.audit().since(mark, &bed.admin).await.unwrap();
    edits.retain(|record| record.namespace == bed.namespace && record.is("patch", "streamingpipelines"));
    let writes = bed.writes_since(mark).await;
    let count_of = |verb: &str, resource: &str| writes.iter().filter(|write| write.is(verb, resource)).count();
    let replaced = count * REPLICAS;
    let (creates, deletes) = (count_of("create", "pods"), count_of("delete", "pods"));
    let statuses = count_of("update", "streamingpipelines/status");
    let of_pods: Vec<&Record> = writes.iter().filter(|write| write.resource == "pods").collect();
    let rollouts = rollouts(&edits, &of_pods);
    let mut waits: Vec<f64> = rollouts
        .values()
        .map(|rollout| rollout.first.duration_since(rollout.edited).as_secs_f64())
        .collect();
    waits.sort_by(f64::total_cmp);
    #[allow(clippy::cast_precision_loss, reason = "some thousands at the most")]
    let a_pod = |number: usize| number as f64 / replaced as f64;
    println!(
        "{count} pipelines of {REPLICAS} Pods rolled in {:.1} s; a Pod replaced: {:.2} creates, {:.2} deletes, {:.2} status writes; \
         edit to first Pod write: median {:.2} s, longest {:.2} s",
        took.as_secs_f64(),
        a_pod(creates),
        a_pod(deletes),
        a_pod(statuses),
        waits[waits.len() / 2],
        waits[waits.len() - 1],
    );
    assert_eq!((creates, deletes), (replaced, replaced), "each Pod is replaced once");
    // One when the next Pod is moved, one when the old one is gone and the next step takes more than a second; and for each
    // rollout its beginning and its end.
    let most = 2 * replaced + 2 * count;
    assert!(statuses <= most, "{statuses} status writes for {replaced} Pods");
    for (name, rollout) in &rollouts {
        // Nobody who came later is served from beginning to end while this one waits.
        let passed = |other: &&Rollout| other.edited > rollout.edited && other.last < rollout.first;
        assert_eq!(rollouts.values().filter(passed).count(), 0, "{name} was passed over");
    }
}
