//! What `make generate` writes is what the code says, and the CRD is documentation.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails as the test itself does: with a message"
)]

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use streaming_operator::api::manifests;
use streaming_operator::api::meta::{ANALYSIS_KIND, KIND};

fn print(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
        .args(arguments)
        .output()
        .expect("the binary runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn committed(path: &str) -> String {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}; run `make generate`"))
}

const CRDS: [&str; 2] = ["rolloutanalyses", "streamingpipelines"];

#[test]
fn the_committed_crds_are_what_the_types_say() {
    for plural in CRDS {
        assert!(
            committed(&format!("crds/streams.sentry.io_{plural}.yaml")) == print(&["crd", plural]),
            "crds/ is stale: run `make generate` and commit the result"
        );
    }
    let all = print(&["crd", "streamingpipelines"]) + &print(&["crd", "rolloutanalyses"]);
    assert!(all == print(&["crd"]), "crd without names prints another list");
    let kinds = manifests::crds().len();
    assert_eq!(kinds, CRDS.len(), "this test does not know every kind");
}

#[test]
fn the_charts_copy_of_the_crds_is_the_crds() {
    for entry in std::fs::read_dir(format!("{}/crds", env!("CARGO_MANIFEST_DIR"))).expect("crds/") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(
            committed(&format!("chart/files/crds/{name}")) == committed(&format!("crds/{name}")),
            "chart/files/crds/{name} is stale: run `make generate` and commit the result"
        );
    }
}

#[test]
fn the_committed_webhook_configurations_are_what_the_code_says() {
    assert!(
        committed("webhook-config/webhooks.yaml") == print(&["webhook-config"]),
        "webhook-config/ is stale: run `make generate` and commit the result"
    );
}

#[test]
fn the_committed_page_of_reasons_is_what_the_code_says() {
    assert!(
        committed("docs/reasons.md") == print(&["reasons"]),
        "docs/reasons.md is stale: run `make generate` and commit the result"
    );
}

#[test]
fn the_committed_list_of_rules_is_what_the_table_says() {
    assert!(
        committed("docs/rules.md") == print(&["rules"]),
        "docs/rules.md is stale: run `make generate` and commit the result"
    );
}

#[test]
fn each_crd_stays_far_below_what_client_side_apply_can_annotate() {
    for plural in CRDS {
        assert!(committed(&format!("crds/streams.sentry.io_{plural}.yaml")).len() < 100_000);
    }
}

/// Every property below `spec` and `status` of a kind, by path.
fn properties(kind: &str) -> BTreeMap<String, Value> {
    fn walk(path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                let path = format!("{path}.{name}");
                walk(&path, property, found);
                found.insert(path, property.clone());
            }
        }
        if let Some(items) = schema.get("items") {
            walk(&format!("{path}[]"), items, found);
        }
    }
    let mut found = BTreeMap::new();
    let root = serde_json::to_value(manifests::schema_of(kind)).expect("JSON");
    for part in ["spec", "status"] {
        walk(part, &root["properties"][part], &mut found);
    }
    found
}

#[test]
fn every_property_of_the_crd_has_a_description_of_at_least_a_sentence() {
    let pipelines = properties(KIND);
    assert!(
        pipelines.contains_key("spec.rollout.maxUnavailable"),
        "the walk reaches nested fields"
    );
    assert!(
        pipelines.contains_key("status.conditions[].reason"),
        "the walk reaches lists"
    );
    let analyses = properties(ANALYSIS_KIND);
    assert!(analyses.contains_key("spec.metrics[].query"));
    let poor: Vec<_> = pipelines
        .iter()
        .chain(&analyses)
        .filter(|(_, schema)| {
            let text = schema["description"].as_str().unwrap_or_default();
            text.split_whitespace().count() < 4 || !text.trim_end().ends_with('.')
        })
        .map(|(path, _)| path)
        .collect();
    assert!(poor.is_empty(), "no description of a sentence: {poor:?}");
}

#[test]
fn only_the_users_own_objects_are_open() {
    let open: Vec<_> = properties(KIND)
        .into_iter()
        .chain(properties(ANALYSIS_KIND))
        .filter(|(_, schema)| schema.get("x-kubernetes-preserve-unknown-fields").is_some())
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        open,
        [
            "spec.container_template",
            "spec.deployment_template",
            "spec.emergency_patch",
            "spec.pipeline_config"
        ]
    );
}

#[test]
fn every_static_default_stands_in_the_crd() {
    let defaults = |kind| {
        let properties = properties(kind).into_iter();
        properties
            .filter_map(|(path, schema)| Some(format!("{path}={}", schema.get("default")?)))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        defaults(ANALYSIS_KIND),
        [
            "spec.failureLimit=3",
            "spec.initialDelay=\"0s\"",
            "spec.interval=\"30s\"",
            "spec.metrics[].source=\"default\"",
            "spec.mode=\"Enforce\"",
            "spec.onNoData=\"Pause\"",
            "spec.requiredPasses=5",
        ]
    );
    assert_eq!(
        defaults(KIND),
        [
            "spec.container_name=\"pipeline-consumer\"",
            "spec.enable_liveness_probe=true",
            "spec.log_level=\"INFO\"",
            "spec.replicas=1",
            "spec.revisionHistoryLimit=10",
            "spec.rollout={}",
            "spec.rollout.maxUnavailable=\"25%\"",
            "spec.rollout.minReadySeconds=0",
            "spec.rollout.onFailure=\"Pause\"",
            "spec.rollout.paused=false",
            "spec.rollout.podReplacementPolicy=\"TerminatingOrFailed\"",
            "spec.rollout.progressDeadlineSeconds=600",
            "spec.rollout.requireAnalysis=false",
            "spec.segment_id=0",
            "spec.suspend=false",
            "spec.with_canary=false",
        ]
    );
}
