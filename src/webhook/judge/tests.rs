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
