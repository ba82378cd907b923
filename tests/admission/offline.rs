//! `validate` says of a file what kubectl and the API server say of it: also of what they judge before any webhook.

use std::process::Command;

use serde_json::{Map, Value, json};

use crate::bed::{Bed, manifest};

/// What becomes of a manifest by kubectl and by `validate`: whether each takes it.
async fn answers(bed: &Bed, object: &Value) -> (bool, bool) {
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    std::fs::write(&file, object.to_string()).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let there = bed.kubectl(&["create", "--dry-run=server", "--filename", path]).await;
    let here = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
        .args(["validate", "-f", path])
        .status()
        .expect("the program");
    (there.is_ok(), here.success())
}

/// Each of these is taken by both, or by none.
async fn assert_agreed(bed: &Bed, objects: impl IntoIterator<Item = (Value, bool)>) {
    for (object, expected) in objects {
        assert_eq!(answers(bed, &object).await, (expected, expected), "{object}");
    }
}

fn with_metadata(metadata: Value) -> Value {
    let mut object = manifest("x");
    // The name of a generated one is not known yet.
    object["spec"]["pipeline_name"] = json!("p");
    object["metadata"] = metadata;
    object
}

#[tokio::test]
async fn names_are_judged_as_the_api_server_judges_them() {
    let bed = Bed::start().await;
    let (long, longer, part) = ("a".repeat(253), "a".repeat(254), format!("{}.b", "a".repeat(70)));
    let names = [
        ("a", true),
        (&long, true),
        (&longer, false),
        (&part, true),
        ("A", false),
        ("a_b", false),
    ];
    let names = names.into_iter().chain([("a..b", false), ("-a", false), ("a-", false)]);
    assert_agreed(&bed, names.map(|(name, ok)| (with_metadata(json!({"name": name})), ok))).await;
    let prefixes = [
        ("a-", true),
        ("a--", true),
        ("A-", false),
        ("a.", false),
        ("a.-", false),
        ("-", false),
    ];
    let prefixes = prefixes.map(|(prefix, ok)| (with_metadata(json!({"generateName": prefix})), ok));
    assert_agreed(&bed, prefixes).await;
    let others = [json!({}), json!({"name": 5}), json!([1])];
    assert_agreed(&bed, others.map(|metadata| (with_metadata(metadata), false))).await;
}

#[tokio::test]
async fn labels_and_annotations_are_judged_as_the_api_server_judges_them() {
    let bed = Bed::start().await;
    let prefix = format!("{}.x/k", "a".repeat(70));
    let of = |field: &str, key: &str, value: Value| {
        let entries = Map::from_iter([(key.to_owned(), value)]);
        with_metadata(json!({"name": "a", field: entries}))
    };
    let labels = [
        ("a", json!(""), true),
        ("a", json!(null), true),
        (&prefix, json!("v"), true),
        ("a", json!("v-"), false),
        ("a", json!("v".repeat(64)), false),
        ("a", json!(1), false),
        ("a", json!(true), false),
        ("a b", json!("v"), false),
        ("UPPER.x/a", json!("v"), false),
        ("/a", json!("v"), false),
        ("a/b/c", json!("v"), false),
        ("", json!("v"), false),
    ];
    assert_agreed(&bed, labels.map(|(key, value, ok)| (of("labels", key, value), ok))).await;
    let annotations = [
        ("UPPER.x/a", json!("any text"), true),
        ("a", json!("v".repeat(262_143)), true),
        ("a", json!("v".repeat(262_144)), false),
        ("a b", json!("v"), false),
        ("a", json!(1), false),
    ];
    assert_agreed(
        &bed,
        annotations.map(|(key, value, ok)| (of("annotations", key, value), ok)),
    )
    .await;
}

/// kubectl writes a whole number without point or exponent, however it stands in a file.
#[tokio::test]
async fn numbers_are_judged_as_the_api_server_stores_them() {
    let bed = Bed::start().await;
    let number = |literal: &str| serde_json::from_str::<Value>(literal).expect("a number");
    let with = |path: &[&str], literal: &str| {
        let mut object = manifest("a");
        let spec = path.iter().fold(&mut object["spec"], |value, field| &mut value[*field]);
        *spec = number(literal);
        object
    };
    let grace = [
        "deployment_template",
        "spec",
        "template",
        "spec",
        "terminationGracePeriodSeconds",
    ];
    let rows = [
        (with(&["replicas"], "1.0"), true),
        (with(&["replicas"], "1e0"), true),
        (with(&["replicas"], "1.5"), false),
        (with(&["replicas"], "-0"), true),
        (with(&["cpu_per_process"], "1e3"), true),
        (with(&["cpu_per_process"], "100000000000000000000"), false),
        (with(&["rollout", "maxUnavailable"], "2.0"), true),
        (with(&["rollout", "maxUnavailable"], "2.5"), false),
        (with(&grace, "60.0"), true),
        (with(&grace, "60.5"), false),
    ];
    assert_agreed(&bed, rows).await;
}

/// kubectl asks the API server to refuse them; the warning names the same path.
#[tokio::test]
async fn fields_that_kubectl_is_refused_for_are_warned_of_by_the_same_path() {
    let bed = Bed::start().await;
    for pointer in [
        "/sepc",
        "/metadata/namspace",
        "/spec/rolout",
        "/spec/rollout/pausd",
        "/status/fase",
    ] {
        let mut object = manifest("a");
        object["spec"]["rollout"] = json!({});
        object["status"] = json!({});
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        object.pointer_mut(parent).expect("it is there")[field] = json!({"a": 1});
        let path = pointer.trim_start_matches('/').replace('/', ".");
        let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
        std::fs::write(&file, object.to_string()).expect("a file");
        let name = file.path().to_str().expect("UTF-8");
        let refusal = bed.kubectl(&["create", "--dry-run=server", "--filename", name]).await;
        let refusal = refusal.expect_err(&path);
        assert!(
            refusal.contains(&format!("strict decoding error: unknown field \"{path}\"")),
            "{path}: {refusal}"
        );
        let here = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
            .args(["validate", "-f", name])
            .output()
            .expect("the program");
        let told = String::from_utf8_lossy(&here.stdout).into_owned();
        let warning = format!("warning: {path}: is an unknown field: kubectl refuses it, other clients drop it\n");
        assert!(here.status.success() && told.ends_with(&warning), "{told}");
    }
}
