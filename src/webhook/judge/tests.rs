//! Whatever comes, there is an answer.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::webhook::review::decode;

fn names() -> Names {
    let names = Names::new(None, Duration::from_secs(30));
    names.observe(&Event::Init);
    names.observe(&Event::InitDone);
    names
}

/// Any JSON, the names of our own fields among its keys.
fn any_json() -> impl Strategy<Value = Value> {
    let keys = [
        "metadata",
        "name",
        "spec",
        "service_name",
        "pipeline_name",
        "replicas",
        "segment_id",
        "rollout",
        "maxUnavailable",
        "pipeline_config",
        "pipeline",
        "segments",
        "steps_config",
        "parallelism",
        "deployment_template",
        "template",
        "container_template",
        "containers",
        "env",
        "emergency_patch",
        "other",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let key = proptest::sample::select(keys.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn request(object: Value, old_object: Option<Value>) -> Request {
    Request {
        kind: Kind::StreamingPipeline,
        operation: if old_object.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        sub_resource: String::new(),
        namespace: "ingest".to_owned(),
        name: "checkout".to_owned(),
        dry_run: false,
        user: UserInfo::default(),
        object,
        old_object,
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        // What matters is that there is a result.
        let _result = decode(&bytes);
    }

    #[test]
    fn any_object_gets_an_answer(spec in any_json(), old in proptest::option::of(any_json())) {
        let object = |spec: Value| json!({"metadata": {"name": "checkout"}, "spec": spec});
        let request = request(object(spec), old.map(object));
        prop_assert!(mutate(&request).encode("u").is_ok());
        prop_assert!(validate(&request, &names(), Timestamp::UNIX_EPOCH).encode("u").is_ok());
        let request = Request { kind: Kind::RolloutAnalysis, ..request };
        prop_assert!(mutate(&request).encode("u").is_ok());
        prop_assert!(validate_analysis(&request, &BTreeSet::new()).encode("u").is_ok());
    }
}

#[test]
fn subresources_and_other_operations_pass_unseen() {
    let faulty = json!({"metadata": {"name": "checkout"}, "spec": {"replicas": "many"}});
    let mut scale = request(faulty.clone(), Some(faulty.clone()));
    scale.sub_resource = "scale".to_owned();
    let mut delete = request(Value::Null, Some(faulty));
    delete.operation = Operation::Other;
    for request in [scale, delete] {
        assert_eq!(mutate(&request), Answer::default());
        assert_eq!(validate(&request, &names(), Timestamp::UNIX_EPOCH), Answer::default());
    }
}

#[test]
fn a_pipeline_whose_name_is_generated_has_to_say_its_pipeline_name() {
    let judged = |spec: &str| {
        let spec: Value = serde_json::from_str(spec).expect("a spec");
        let object = json!({"metadata": {"generateName": "p-", "name": "p-x7k2f"}, "spec": spec});
        let answer = validate(&request(object, None), &names(), Timestamp::UNIX_EPOCH);
        let causes = answer.refusal.and_then(|status| status.details?.causes);
        let fields = causes.into_iter().flatten().filter_map(|cause| cause.field);
        fields.filter(|field| field == "spec.pipeline_name").count()
    };
    assert_eq!(judged("{}"), 1);
    assert_eq!(judged(r#"{"pipeline_name": "p"}"#), 0);
}

fn analysis(spec: Value, old: Option<Value>) -> Request {
    let object = |spec: Value| json!({"metadata": {"name": "checkout"}, "spec": spec});
    Request {
        kind: Kind::RolloutAnalysis,
        ..request(object(spec), old.map(object))
    }
}

fn minimal() -> Value {
    json!({"target": {"kind": "StreamingPipeline", "name": "checkout"},
           "metrics": [{"name": "errors", "query": "errors", "maxValue": 1}]})
}

#[test]
fn the_defaults_of_an_analysis_are_patched_in_and_its_unknown_fields_stay() {
    let mut spec = minimal();
    spec["other"] = json!(1);
    spec["interval"] = json!("1m");
    let patch = mutate(&analysis(spec, None)).patch.expect("a patch");
    let patch = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, patch).expect("base64");
    let mut patch: Vec<Value> = serde_json::from_slice(&patch).expect("JSON");
    patch.sort_by_key(|operation| operation["path"].to_string());
    assert_eq!(
        json!(patch),
        json!([
            {"op": "add", "path": "/spec/failureLimit", "value": 3},
            {"op": "add", "path": "/spec/initialDelay", "value": "0s"},
            {"op": "add", "path": "/spec/metrics/0/source", "value": "default"},
            {"op": "add", "path": "/spec/mode", "value": "Enforce"},
            {"op": "add", "path": "/spec/onNoData", "value": "Pause"},
            {"op": "add", "path": "/spec/requiredPasses", "value": 5},
        ])
    );
}

#[test]
fn an_analysis_is_refused_with_every_fault_and_warned_of_a_source_that_the_operator_does_not_have() {
    let sources = BTreeSet::from(["long-term".to_owned()]);
    let mut spec = minimal();
    let warning = "spec.metrics[0].source: the operator has no metrics source of this name; it has long-term";
    let answer = validate_analysis(&analysis(spec.clone(), None), &sources);
    assert_eq!((answer.refusal, answer.warnings), (None, vec![warning.to_owned()]));
    spec["interval"] = json!("1s");
    spec["metrics"][0]["query"] = json!("errors{pod=~\"$(pod)\"}");
    let refusal = validate_analysis(&analysis(spec, None), &sources)
        .refusal
        .expect("a refusal");
    let details = refusal.details.expect("details");
    assert_eq!(
        (refusal.code, details.kind.as_deref()),
        (Some(422), Some("RolloutAnalysis"))
    );
    let fields = details.causes.into_iter().flatten().filter_map(|cause| cause.field);
    assert_eq!(fields.collect::<Vec<_>>(), ["spec.interval", "spec.metrics[0].query"]);
}

#[test]
fn an_analysis_that_is_being_deleted_passes_whatever_is_wrong_with_it() {
    let mut request = analysis(json!({}), Some(json!({})));
    request.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(mutate(&request), Answer::default());
    assert_eq!(validate_analysis(&request, &BTreeSet::new()), Answer::default());
}
