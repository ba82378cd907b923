//! What the status says at any moment: its conditions agree with each other, and its numbers with the Pods in the store.
//! A witness has every version of the pipeline and of its Pods, in the order in which the store got them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::bed::{Bed, condition, image, pipeline};

/// Versions of an object by the number of the write; null for one that is gone.
type History = Arc<Mutex<BTreeMap<u64, (String, Value)>>>;

async fn follow<K>(api: Api<K>, history: History)
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize + Send + 'static,
    K::DynamicType: Clone,
{
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        let (object, is_there) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, true),
            Ok(Event::Delete(object)) => (object, false),
            Ok(Event::Init | Event::InitDone) => continue,
            Err(error) => panic!("the witness is blind: {error}"),
        };
        let value = serde_json::to_value(&object).unwrap();
        let text = |key: &str| value["metadata"][key].as_str().unwrap().to_owned();
        let number: u64 = text("resourceVersion").parse().unwrap();
        let version = (text("name"), if is_there { value } else { Value::Null });
        history.lock().unwrap().insert(number, version);
    }
}

/// Numbers of a status that can be counted in the store: live places and Ready ones. (How many Pods are ending cannot: of
/// several that were deleted some may be gone before the last one is.)
fn counted(pods: &BTreeMap<String, Value>) -> [usize; 2] {
    let place = |pod: &Value| {
        let labels = &pod["metadata"]["labels"];
        let label = |key: &str| labels[format!("streams.sentry.io/{key}")].to_string();
        (label("workload-set"), label("ordinal"))
    };
    let ended = |pod: &Value| matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let leaves = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
    let live = || pods.values().filter(|pod| !ended(pod) && !leaves(pod));
    let ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array();
        let mut all = conditions.into_iter().flatten();
        all.any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    [
        live().map(place).collect::<BTreeSet<_>>().len(),
        live().filter(ready).map(place).collect::<BTreeSet<_>>().len(),
    ]
}

/// What is wrong within one status.
fn contradictions(pipeline: &Value) -> Vec<String> {
    let status = &pipeline["status"];
    let is = |type_: &str, wanted: &str| condition(pipeline, type_)["status"] == wanted;
    let number = |field: &str| status[field].as_i64().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    let types = [
        "Rendered",
        "Applied",
        "Available",
        "Progressing",
        "RolloutPaused",
        "Ready",
        "Reconciling",
        "Stalled",
    ];
    for type_ in types {
        let found = condition(pipeline, type_);
        must(found.is_object(), &format!("there is no {type_}"));
        let generation = &found["observedGeneration"];
        must(
            *generation == status["observedGeneration"],
            &format!("{type_} is of another generation"),
        );
    }
    let modes = ["Ready", "Reconciling", "Stalled"]
        .iter()
        .filter(|type_| is(type_, "True"));
    must(modes.count() == 1, "not exactly one of Ready, Reconciling and Stalled");
    let ready = is("Ready", "True");
    must(!ready || is("Available", "True"), "Ready and not Available");
    must(!ready || is("Applied", "True"), "Ready and not Applied");
    must(!ready || is("Rendered", "True"), "Ready and not Rendered");
    must(!ready || is("Progressing", "True"), "Ready and not Progressing");
    must(
        !ready || is("RolloutPaused", "False") || pipeline["spec"]["rollout"]["paused"] == true,
        "Ready and held",
    );
    let phase = status["rollout"]["phase"].as_str().unwrap_or_default();
    must(
        !ready || ["Complete", "Suspended"].contains(&phase),
        "Ready in another phase",
    );
    must(is("Stalled", "False") || phase != "Complete", "Stalled and Complete");
    let suspended = pipeline["spec"]["suspend"] == true;
    let wanted = if suspended {
        0
    } else {
        pipeline["spec"]["replicas"].as_i64().unwrap()
    };
    // Between an edit and its first write the numbers are of the spec before.
    let seen = status["observedGeneration"] == pipeline["metadata"]["generation"];
    for field in ["totalReplicas", "readyReplicas", "updatedReplicas", "availableReplicas"] {
        must(
            !ready || !seen || number(field) == wanted,
            &format!("Ready and another {field}"),
        );
        must(
            number(field) <= number("totalReplicas"),
            &format!("more {field} than Pods"),
        );
    }
    must(
        number("availableReplicas") <= number("readyReplicas"),
        "more are available than Ready",
    );
    wrong
}

/// Edits of every kind, each to its end.
async fn a_busy_life(bed: &Bed) {
    bed.until_ready("p").await;
    bed.edit("p", image("2")).await;
    bed.until_ready("p").await;
    bed.edit(
        "p",
        json!({"spec": {"image_name": "registry.example/consumer:bad", "rollout": {"progressDeadlineSeconds": 2}}}),
    )
    .await;
    bed.until("p", "Ready", "False/ProgressDeadlineExceeded").await;
    bed.edit("p", json!({"spec": {"rollout": {"paused": true}}})).await;
    bed.until("p", "Ready", "False/RolloutPaused").await;
    bed.edit(
        "p",
        json!({"spec": {"image_name": "registry.example/consumer:3", "rollout": {"paused": false}}}),
    )
    .await;
    bed.until_ready("p").await;
    let lost = bed.list("pods").await[1]["metadata"]["name"].clone();
    bed.kubectl(&["delete", "pod", lost.as_str().unwrap()]).await.unwrap();
    bed.edit("p", json!({"spec": {"replicas": 6, "with_canary": true}}))
        .await;
    bed.until_ready("p").await;
    bed.edit("p", json!({"spec": {"replicas": 1}})).await;
    bed.until_ready("p").await;
    bed.edit("p", image("4")).await;
    bed.until_ready("p").await;
    bed.edit("p", json!({"spec": {"suspend": true}})).await;
    bed.until("p", "Ready", "True/Suspended").await;
    bed.edit("p", json!({"spec": {"suspend": false}})).await;
    bed.until_ready("p").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_status_contradicts_itself_or_the_pods_that_are_stored() {
    let bed = Bed::start("consistent", &[]).await;
    let (pods, pipelines) = (History::default(), History::default());
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "streams.sentry.io",
        "v1alpha1",
        "StreamingPipeline",
    ));
    let api: Api<DynamicObject> = Api::namespaced_with(bed.admin.clone(), &bed.namespace, &kind);
    let mut witnesses = JoinSet::new();
    witnesses.spawn(follow(api, Arc::clone(&pipelines)));
    witnesses.spawn(follow(
        Api::<Pod>::namespaced(bed.admin.clone(), &bed.namespace),
        Arc::clone(&pods),
    ));
    bed.apply(&[pipeline(&bed.namespace, "p", 4)]).await;
    a_busy_life(&bed).await;
    assert!(witnesses.try_join_next().is_none(), "a witness ended");

    let (pods, pipelines) = (pods.lock().unwrap().clone(), pipelines.lock().unwrap().clone());
    let mut wrong = Vec::new();
    let mut writes = vec![0, 0];
    let mut said = Value::Null;
    for (number, (_, pipeline)) in &pipelines {
        let status = &pipeline["status"];
        // (-1 is the default of the CRD, until the operator has looked)
        if status["observedGeneration"] == json!(-1) || *status == said {
            continue;
        }
        said = status.clone();
        wrong.extend(
            contradictions(pipeline)
                .into_iter()
                .map(|what| format!("{what}: {status}")),
        );
        // True at a moment since the write before the last: a pass begins with what the watch had brought by then.
        let since = writes[writes.len() - 2];
        let moments = moments(&pods, since, *number);
        for (index, field) in ["totalReplicas", "readyReplicas"].iter().enumerate() {
            let claim = usize::try_from(status[field].as_i64().unwrap_or_default()).unwrap();
            if !moments.iter().any(|counted| counted[index] == claim) {
                wrong.push(format!("{field} {claim} at {number}, in the store were {moments:?}"));
            }
        }
        writes.push(*number);
    }
    assert!(writes.len() > 30, "{} versions of the status were seen", writes.len());
    assert_eq!(wrong, Vec::<String>::new());
}

/// The counts at the write `from` and after each write of a Pod up to `to`.
fn moments(pods: &BTreeMap<u64, (String, Value)>, from: u64, to: u64) -> Vec<[usize; 2]> {
    let mut there: BTreeMap<String, Value> = BTreeMap::new();
    let mut moments = Vec::new();
    let mut before = counted(&there);
    for (number, (name, pod)) in pods.range(..=to) {
        if pod.is_null() {
            there.remove(name);
        } else {
            there.insert(name.clone(), pod.clone());
        }
        if *number > from {
            moments.push(before);
        }
        before = counted(&there);
    }
    moments.push(before);
    moments
}
