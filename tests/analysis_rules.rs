//! The rules of a RolloutAnalysis and what is said of what they refuse, without a cluster: each has a case for every
//! message, and no message is said that is not listed.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails as the test itself does: with a message"
)]

use serde_json::{Value, json};
use streaming_operator::core::analysis::admission::validate;
use streaming_operator::core::analysis::rules::ANALYSIS_RULES;
use streaming_operator::core::violation::Violation;
use testkit::fixtures;
use testkit::listed::Unsaid;

fn faults(object: &Value) -> Vec<Violation> {
    validate(object, None, None).violations
}

/// A rule, an edit of the spec that it refuses, and `path: message` of what it says.
fn cases() -> Vec<(&'static str, Value, String)> {
    let metric = |edit: Value| {
        let mut metric = json!({"name": "errors", "query": "errors", "maxValue": 1});
        json_patch::merge(&mut metric, &edit);
        json!({"metrics": [metric]})
    };
    let many: Vec<Value> = (0..21)
        .map(|n| json!({"name": format!("m{n}"), "query": "up", "minValue": 1}))
        .collect();
    let unknown = "there are namespace, name, revision, canaryPods and primaryPods; write $$( for a literal $(";
    let mut cases: Vec<(&str, Value, String)> = Vec::new();
    for (edit, said) in [
        (json!({"target": null}), "spec.target: must be set"),
        (json!({"interval": 30}), "spec.interval: must be a string"),
        (json!({"mode": "Off"}), "spec.mode: must be one of Enforce, ReportOnly"),
        (json!({"metrics": []}), "spec.metrics: must not be empty"),
        (
            json!({"metrics": many}),
            "spec.metrics: has 21 entries, at most 20 are allowed",
        ),
        (
            json!({"failureLimit": 1001}),
            "spec.failureLimit: is 1001, must be from 1 to 1000",
        ),
        (
            metric(json!({"source": "s".repeat(64)})),
            "spec.metrics[0].source: has 64 characters, at most 63 are allowed",
        ),
    ] {
        cases.push(("analysis-fields", edit, said.to_owned()));
    }
    for (rule, edit, said) in [
        (
            "analysis-target",
            json!({"target": {"name": "../web"}}),
            "spec.target.name: is no name of an object: at most 253 of a-z, 0-9, - and ., each part between dots beginning \
             and ending with a letter or digit",
        ),
        (
            "measurement-times",
            json!({"interval": "1.5m"}),
            "spec.interval: must be a duration of whole hours, minutes and seconds, such as 30s, 1m30s or 1h",
        ),
        (
            "measurement-times",
            json!({"interval": "4s"}),
            "spec.interval: must be from 5s to 24h",
        ),
        (
            "measurement-times",
            json!({"initialDelay": "25h"}),
            "spec.initialDelay: must be from 0s to 24h",
        ),
        (
            "metric-names",
            metric(json!({"name": "a b"})),
            "spec.metrics[0].name: must be of A-Z, a-z, 0-9, -, _ and ., the first and the last a letter or digit",
        ),
        (
            "metric-limits",
            metric(json!({"maxValue": null})),
            "spec.metrics[0]: has no limit: set maxValue, minValue or both",
        ),
        (
            "metric-limits",
            metric(json!({"minValue": 1.5})),
            "spec.metrics[0].minValue: must not be above maxValue: no value would hold",
        ),
        (
            "query-variables",
            metric(json!({"query": "up $(open"})),
            "spec.metrics[0].query: has a $( without its ): write $$( for a literal $(",
        ),
        (
            "query-result",
            metric(json!({"query": "up[5m]"})),
            "spec.metrics[0].query: results in a range vector, must be an instant vector or a scalar",
        ),
    ] {
        cases.push((rule, edit, said.to_owned()));
    }
    let variable = metric(json!({"query": "up{pod=~\"$(pods)\"}"}));
    let said = format!("spec.metrics[0].query: has the unknown variable $(pods): {unknown}");
    cases.push(("query-variables", variable, said));
    let twice = json!({"name": "errors", "query": "up", "minValue": 1});
    cases.push((
        "metric-names",
        json!({"metrics": [twice, twice]}),
        "spec.metrics[1].name: is the name of another metric: choose another name".to_owned(),
    ));
    cases
}

#[test]
fn an_analysis_that_leaves_out_what_has_a_default_is_valid() {
    assert_eq!(faults(&fixtures::analysis("checkout")), []);
}

#[test]
fn each_fault_is_told_by_its_rule_and_alone() {
    for (rule, edit, said) in cases() {
        let found = faults(&fixtures::edited_analysis("checkout", &edit));
        let told: Vec<_> = found.iter().map(|fault| (fault.rule, fault.to_string())).collect();
        assert_eq!(told, [(rule, said)], "{edit}");
    }
}

#[test]
fn every_message_that_is_listed_is_said_and_no_other() {
    let mut unsaid = Unsaid::of(ANALYSIS_RULES.iter().map(|rule| (rule.name, rule.messages)));
    let null = json!({"metadata": {"name": "a"}, "spec": {"target": {"kind": "Deployment", "name": "a"}, "interval": null,
                      "metrics": [{"name": "a", "query": "a", "maxValue": 1}]}});
    let edited = cases()
        .into_iter()
        .map(|(_, edit, _)| fixtures::edited_analysis("checkout", &edit));
    for fault in edited.chain([null]).flat_map(|object| faults(&object)) {
        let rule = ANALYSIS_RULES
            .iter()
            .find(|rule| rule.name == fault.rule)
            .expect("a rule");
        unsaid.said(rule.name, rule.messages, &fault.message);
    }
    unsaid.assert_none();
}

#[test]
fn the_example_of_a_rule_is_refused_by_it() {
    for rule in ANALYSIS_RULES {
        let edit: Value = serde_saphyr::from_str(rule.example).expect("YAML");
        let found = faults(&fixtures::edited_analysis("checkout", &edit));
        assert!(
            found.iter().any(|fault| fault.rule == rule.name),
            "{}: {found:?}",
            rule.name
        );
    }
}

#[test]
fn whatever_stands_in_a_field_there_is_an_answer() {
    let object = fixtures::analysis("checkout");
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("$("),
        json!([1]),
        json!({"a": 1}),
    ];
    for pointer in [
        "/spec",
        "/spec/target",
        "/spec/target/kind",
        "/spec/target/name",
        "/spec/metrics",
        "/spec/metrics/0",
        "/spec/metrics/0/name",
        "/spec/metrics/0/query",
        "/spec/metrics/0/maxValue",
    ] {
        for value in &values {
            let mut spoilt = object.clone();
            *spoilt.pointer_mut(pointer).expect("it is there") = value.clone();
            let found = faults(&spoilt);
            let is_right = pointer.ends_with("maxValue") && value.is_number();
            assert_eq!(found.is_empty(), is_right, "{pointer}: {value}: {found:?}");
        }
    }
}
