use serde_json::json;

use super::*;
use crate::core::analysis::valid::{Limits, ValidAnalysis};

/// An analysis in which no rule finds a fault, with an edit of its spec.
fn edited(edit: impl FnOnce(&mut Value)) -> Value {
    let mut object = json!({"metadata": {"name": "checkout"}, "spec": {
        "target": {"kind": "StreamingPipeline", "name": "checkout"},
        "metrics": [{"name": "p99-latency", "query": "up{pod=~\"$(canaryPods)\"}", "maxValue": 0.25, "source": "default"}],
        "interval": "30s", "failureLimit": 3, "requiredPasses": 5, "initialDelay": "0s", "onNoData": "Pause", "mode": "Enforce",
    }});
    edit(object.get_mut("spec").expect("a spec"));
    object
}

fn told(object: &Value) -> Vec<String> {
    let found = faults(object).into_iter();
    found
        .map(|(rule, fault)| format!("{rule}: {}: {}", fault.path, fault.message))
        .collect()
}

#[test]
fn all_faults_are_told_at_once_each_with_its_path() {
    let object = edited(|spec| {
        spec["target"] = json!({"kind": "StatefulSet", "name": "Checkout/../x"});
        spec["interval"] = json!("1s");
        spec["initialDelay"] = json!("soon");
        spec["failureLimit"] = json!(0);
        spec["requiredPasses"] = json!("5");
        spec["metrics"] = json!([
            {"name": "a", "query": "up{pod=~\"$(pods)\"}", "source": "default"},
            {"name": "a", "query": 1, "maxValue": "x", "minValue": 2},
            {"query": "$(", "minValue": 2, "maxValue": 1.5},
        ]);
    });
    assert_eq!(
        told(&object),
        [
            "analysis-fields: spec.failureLimit: is 0, must be from 1 to 1000",
            "analysis-fields: spec.metrics[1].maxValue: must be a number",
            "analysis-fields: spec.metrics[1].query: must be a string",
            "analysis-fields: spec.metrics[2].name: must be set",
            "analysis-fields: spec.requiredPasses: must be an integer",
            "analysis-fields: spec.target.kind: must be one of StreamingPipeline, Deployment",
            "analysis-target: spec.target.name: is no name of an object: at most 253 of a-z, 0-9, - and ., each part \
             between dots beginning and ending with a letter or digit",
            "measurement-times: spec.interval: must be from 5s to 24h",
            "measurement-times: spec.initialDelay: must be a duration of whole hours, minutes and seconds, such as 30s, \
             1m30s or 1h",
            "metric-names: spec.metrics[1].name: is the name of another metric: choose another name",
            "metric-limits: spec.metrics[0]: has no limit: set maxValue, minValue or both",
            "metric-limits: spec.metrics[2].minValue: must not be above maxValue: no value would hold",
            "query-variables: spec.metrics[0].query: has the unknown variable $(pods): there are namespace, name, revision, \
             canaryPods and primaryPods; write $$( for a literal $(",
            "query-variables: spec.metrics[2].query: has a $( without its ): write $$( for a literal $(",
        ]
    );
}

#[test]
fn an_object_without_a_spec_has_that_fault_alone() {
    for object in [json!({}), json!(null), json!({"spec": null})] {
        assert_eq!(told(&object), ["analysis-fields: spec: must be set"]);
    }
    assert_eq!(
        told(&json!({"spec": [1]})),
        ["analysis-fields: spec: must be an object"]
    );
}

#[test]
fn what_lies_at_its_bounds_is_no_fault() {
    let object = edited(|spec| {
        spec["interval"] = json!("24h");
        spec["initialDelay"] = json!("24h");
        spec["failureLimit"] = json!(1000);
        spec["metrics"][0]["minValue"] = json!(0.25);
        spec["metrics"][0]["query"] = json!("x".repeat(8192));
    });
    assert_eq!(told(&object), Vec::<String>::new());
    let object = edited(|spec| spec["interval"] = json!("5s"));
    assert_eq!(told(&object), Vec::<String>::new());
}

#[test]
fn a_valid_analysis_has_what_its_spec_says() {
    let object = edited(|spec| spec["initialDelay"] = json!("1m30s"));
    let spec: RolloutAnalysisSpec = serde_json::from_value(object["spec"].clone()).expect("a spec");
    let valid = ValidAnalysis::parse(&spec).expect("no faults");
    assert_eq!(valid.interval, Duration::from_secs(30));
    assert_eq!(valid.initial_delay, Duration::from_secs(90));
    assert_eq!((valid.failure_limit, valid.required_passes), (3, 5));
    assert_eq!(valid.metrics.len(), 1);
    assert_eq!(
        valid.metrics[0].limits,
        Limits {
            max: Some(0.25),
            min: None
        }
    );
}

#[test]
fn a_number_that_json_does_not_have_is_a_fault() {
    let object = edited(|_| {});
    let mut spec: RolloutAnalysisSpec = serde_json::from_value(object["spec"].clone()).expect("a spec");
    spec.metrics[0].max_value = Some(f64::NAN);
    let faults = ValidAnalysis::parse(&spec).expect_err("a fault");
    assert_eq!(
        faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["spec.metrics[0].maxValue: is null, must be a number, or be left out"]
    );
}
