//! values.yaml and its schema: every value is known, and a wrong one is refused with its path.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::helm::{chart, objects, refusal, with_chart};

fn values() -> Value {
    let text = std::fs::read_to_string(chart().join("values.yaml")).unwrap();
    Value::Object(
        testkit::install::documents(&text)
            .unwrap()
            .remove(0)
            .as_object()
            .unwrap()
            .clone(),
    )
}

fn schema() -> Value {
    serde_json::from_str(&std::fs::read_to_string(chart().join("values.schema.json")).unwrap()).unwrap()
}

/// The schema behind a reference, or the schema itself.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(pointer) => root
            .pointer(pointer.trim_start_matches('#'))
            .expect("what it refers to"),
        None => schema,
    }
}

/// The paths of a closed schema; an object without properties is the user's own and ends the path.
fn paths_of_schema(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let schema = resolved(root, schema);
    let Some(properties) = schema["properties"].as_object() else {
        found.insert(path.to_owned());
        return;
    };
    assert_eq!(
        schema["additionalProperties"], false,
        "{path:?} lets unknown values pass"
    );
    for (name, property) in properties {
        paths_of_schema(root, property, &format!("{path}/{name}"), found);
    }
}

/// The paths of the values, as deep as the schema goes.
fn paths_of_values(value: &Value, known: &BTreeSet<String>, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(values) if !known.contains(path) && !values.is_empty() => {
            for (name, value) in values {
                paths_of_values(value, known, &format!("{path}/{name}"), found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_schema_lists_every_value_and_no_other() {
    let schema = schema();
    let mut known = BTreeSet::new();
    paths_of_schema(&schema, &schema, "", &mut known);
    let mut given = BTreeSet::new();
    paths_of_values(&values(), &known, "", &mut given);
    // An issuer is empty unless the user names one; `global` is Helm's own.
    known.retain(|path| !path.starts_with("/webhook/tls/certManager/issuerRef/") && path != "/global");
    given.remove("/webhook/tls/certManager/issuerRef");
    assert_eq!(given, known);
}

/// A value, and what is said of it.
const WRONG: [(&str, &str); 16] = [
    ("nonsense=1", "at '': additional properties 'nonsense' not allowed"),
    (
        "webhook.prot=1",
        "at '/webhook': additional properties 'prot' not allowed",
    ),
    ("webhook.port=high", "at '/webhook/port': got string, want integer"),
    (
        "webhook.port=70000",
        "at '/webhook/port': maximum: got 70,000, want 65,535",
    ),
    (
        "webhook.failurePolicy=Maybe",
        "at '/webhook/failurePolicy': value must be one of 'Fail', 'Ignore'",
    ),
    ("webhook.tls.mode=files", "at '/webhook/tls/mode': value must be one of"),
    (
        "webhook.tls.mode=secret",
        "at '/webhook/tls/secretName': minLength: got 0, want 1",
    ),
    (
        "settings.backoffBase=10",
        "at '/settings/backoffBase': got number, want string",
    ),
    (
        "settings.backoffBase=soon",
        "at '/settings/backoffBase': 'soon' does not match pattern",
    ),
    (
        "settings.leaseDuration=1500ms",
        "at '/settings/leaseDuration': '1500ms' does not match pattern",
    ),
    (
        "settings.maxPodWritesInFlight=0",
        "at '/settings/maxPodWritesInFlight': minimum: got 0, want 1",
    ),
    (
        "watchNamespaces={Ingest}",
        "at '/watchNamespaces/0': 'Ingest' does not match pattern",
    ),
    ("replicas=two", "at '/replicas': got string, want integer"),
    (
        "image.digest=latest",
        "at '/image/digest': 'latest' does not match pattern",
    ),
    ("http.port=9443", "webhook.port and http.port are the same"),
    (
        "webhook.enabled=false,settings.controllerEnabled=false",
        "webhook.enabled and settings.controllerEnabled are both false",
    ),
];

#[test]
fn a_wrong_value_is_refused_with_its_path() {
    for (value, told) in WRONG {
        let answer = refusal(&["--set", value]);
        assert!(answer.contains(told), "{value}: {answer}");
    }
}

#[test]
fn a_section_that_older_values_lack_stops_no_upgrade() {
    let all: Map<String, Value> = values().as_object().unwrap().clone();
    for name in all.keys() {
        let output = with_chart(&["template", "x"], &["--set", &format!("{name}=null")]);
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // What matters most is on without its section as well.
    let rendered = objects(&[
        "--set",
        "webhook=null,rbac=null,serviceAccount=null,crds=null,replicas=null",
    ]);
    for kind in [
        "ValidatingWebhookConfiguration",
        "ClusterRoleBinding",
        "ServiceAccount",
        "CustomResourceDefinition",
    ] {
        assert!(rendered.iter().any(|object| object["kind"] == kind), "{kind}");
    }
}
