//! What the Python operator rendered for 844 specs (`golden/golden.jsonl`, one JSON object a line) is what we render,
//! but for the differences that `golden/differences.tsv` lists one by one: id, the reason (see [`REASONS`]), what Python
//! did, what we do.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on ends in a panic"
)]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use streaming_operator::api::StreamingPipelineSpec;
use streaming_operator::core::defaults::apply_defaults;
use streaming_operator::core::names::WorkloadSet;
use streaming_operator::core::number;
use streaming_operator::core::render::{Rendered, render};
use streaming_operator::core::valid::ValidPipeline;
use streaming_operator::core::validation::validate;
use streaming_operator::core::violation::Violation;

/// Why a line may differ.
const REASONS: [(&str, &str); 9] = [
    (
        "no-effect",
        "fields of a Deployment that have no effect on Pods are left out, with a warning",
    ),
    ("no-rename", "the emergency patch may not rename the Pods of both sets"),
    (
        "no-valid-object",
        "names and labels that no object can have, and duplicates, are faults",
    ),
    ("no-valid-pod", "what is no Pod by the types of its fields is a fault"),
    (
        "pipeline-name-default",
        "pipeline_name defaults to the name of the object",
    ),
    ("quantities", "negative, fractional and overflowing requests are faults"),
    ("segment-id", "a segment that is not in the config is a fault"),
    ("spec-ranges", "the ranges of the CRD hold"),
    ("spec-types", "the types of the CRD hold"),
];

/// A line that differs.
struct Difference {
    id: &'static str,
    python: &'static str,
    ours: &'static str,
}

fn differences() -> Vec<Difference> {
    let mut rows = include_str!("golden/differences.tsv").lines();
    assert_eq!(rows.next(), Some("id\trule\tpython\tours"));
    rows.map(|row| {
        let [id, reason, python, ours] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four columns in {row}");
        };
        assert!(
            REASONS.iter().any(|(known, _)| *known == reason),
            "{reason} is no reason"
        );
        Difference { id, python, ours }
    })
    .collect()
}

/// A line of the golden data.
struct Line {
    id: String,
    object: Value,
    spec: Value,
    python: Python,
}

/// What the Python operator did.
enum Python {
    Rendered(Value),
    Failed(String),
}

/// What we do.
enum Ours {
    Rendered(Box<(ValidPipeline, Rendered)>),
    Refused(Vec<Violation>),
}

fn lines() -> Vec<Line> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/golden.jsonl");
    let text = std::fs::read_to_string(path).expect("the golden data");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a JSON object a line");
        let text = |field: &str| line[field].as_str().map(str::to_owned);
        let name = text("name").unwrap_or_else(|| "object".to_owned());
        let mut object = json!({"metadata": {"name": name}, "spec": line["spec"]});
        apply_defaults(&mut object);
        Line {
            id: text("id").expect("an id"),
            object,
            spec: line["spec"].clone(),
            python: match text("error_type") {
                Some(class) => Python::Failed(class),
                None => Python::Rendered(line),
            },
        }
    });
    lines.collect()
}

/// Webhook and controller ask in two ways; they must get one answer.
fn ours(line: &Line) -> Ours {
    let verdict = validate(&line.object, None);
    for warning in &verdict.warnings {
        assert!(warning.to_string().chars().count() < 120, "{}: {warning}", line.id);
    }
    let name = line.object["metadata"]["name"].as_str().expect("a name");
    let parsed = StreamingPipelineSpec::deserialize(&line.object["spec"]).ok();
    let parsed = parsed.map(|spec| ValidPipeline::parse(name, &spec));
    match parsed {
        Some(Ok(valid)) if verdict.violations.is_empty() => {
            let rendered = render(&valid);
            Ours::Rendered(Box::new((valid, rendered)))
        }
        parsed => {
            if let Some(parsed) = parsed
                && !verdict.violations.iter().any(|fault| fault.rule == "field-types")
            {
                assert_eq!(parsed.err(), Some(verdict.violations.clone()), "{}", line.id);
            }
            assert!(!verdict.violations.is_empty(), "{}: no fault, and no spec", line.id);
            Ours::Refused(verdict.violations)
        }
    }
}

/// The difference of a line, as (what Python did, what we do); `None` when there is none.
fn difference(line: &Line) -> Option<(String, String)> {
    match (&line.python, ours(line)) {
        (Python::Rendered(python), Ours::Rendered(ours)) => difference_of_rendered(python, &ours.0, &ours.1),
        (Python::Rendered(python), Ours::Refused(faults)) => {
            let name = python["primary"]["metadata"]["name"].as_str().unwrap_or_default();
            Some((format!("renders {name}"), told(&faults)))
        }
        (Python::Failed(class), Ours::Rendered(_)) => Some((class.clone(), "renders".to_owned())),
        (Python::Failed(class), Ours::Refused(faults)) => {
            let is_of_class = faults.iter().any(|fault| is_of_class(class, fault.kind.as_str()));
            (!is_of_class).then(|| (class.clone(), told(&faults)))
        }
    }
}

fn told(faults: &[Violation]) -> String {
    let told = faults.iter().map(|fault| format!("{} at {}", fault.rule, fault.path));
    told.collect::<Vec<_>>().join("; ")
}

fn is_of_class(class: &str, reason: &str) -> bool {
    match class {
        "TypeMismatchError" => reason == "FieldValueTypeInvalid",
        "ScalarOverwriteError" => reason == "FieldValueForbidden",
        "ValidationError" | "ValueError" => true,
        "AttributeError" | "TypeError" | "KeyError" => {
            matches!(reason, "FieldValueTypeInvalid" | "FieldValueRequired")
        }
        _ => panic!("{class} is no class of the golden data"),
    }
}

fn difference_of_rendered(python: &Value, valid: &ValidPipeline, ours: &Rendered) -> Option<(String, String)> {
    let mut found = BTreeMap::new();
    let mut differ = |what: String, python: Value, ours: Value| {
        if python != ours {
            found.insert(what, (python, ours));
        }
    };
    let config = &python["configmap"];
    let base = python["primary"]["metadata"]["name"].as_str().unwrap_or_default();
    let hash: String = ours.config.version.chars().take(10).collect();
    differ(
        "version".to_owned(),
        python["config_version"].clone(),
        json!(ours.config.version),
    );
    differ(
        "text".to_owned(),
        config["data"]["pipeline_config.yaml"].clone(),
        json!(ours.config.text),
    );
    differ(
        "config labels".to_owned(),
        config["metadata"]["labels"].clone(),
        json!(ours.config.labels),
    );
    // The name of the ConfigMap is ours (one a revision); the template must mount that one.
    assert!(valid.primary_base().as_str() != base || ours.config.name == format!("{base}-{hash}"));
    for set in WorkloadSet::ALL {
        let deployment = &python[set.as_str()];
        let count = valid.counts().of(set);
        if deployment.is_null() {
            assert_eq!((set, count), (WorkloadSet::Canary, 0));
            continue;
        }
        let template = ours.set(set).expect("a set that Python rendered");
        differ(
            format!("{set} name"),
            deployment["metadata"]["name"].clone(),
            json!(template.base.as_str()),
        );
        differ(
            format!("{set} replicas"),
            deployment["spec"]["replicas"].clone(),
            json!(count),
        );
        let mut expected = deployment["spec"]["template"].clone();
        let policy = expected["spec"]["restartPolicy"].take();
        if policy != "Always" {
            differ(format!("{set} restartPolicy"), policy, json!("Never"));
        }
        expected["spec"]["restartPolicy"] = json!("Never");
        for volume in expected["spec"]["volumes"].as_array_mut().expect("volumes") {
            if volume["name"] == "pipeline-config" {
                volume["configMap"]["name"] = json!(ours.config.name);
            }
        }
        differ(format!("{set} template"), expected, json!(template.template));
    }
    let side = |pick: fn(&(Value, Value)) -> &Value| {
        let values = found.iter().map(|(what, values)| format!("{what} {}", pick(values)));
        values.collect::<Vec<_>>().join("; ")
    };
    (!found.is_empty()).then(|| (side(|values| &values.0), side(|values| &values.1)))
}

#[test]
fn every_line_is_as_python_did_it_or_stands_in_the_table_of_differences() {
    let lines = lines();
    assert_eq!(lines.len(), 844);
    let mut listed = BTreeMap::new();
    for difference in differences() {
        let id = difference.id;
        assert!(listed.insert(id, difference).is_none(), "{id} is listed twice");
    }
    let mut wrong = Vec::new();
    for line in &lines {
        let entry = listed.remove(line.id.as_str());
        let found = difference(line);
        let expected = entry.map(|entry| (entry.python.to_owned(), entry.ours.to_owned()));
        if found != expected {
            wrong.push(format!("{}: is {found:?}, listed {expected:?}", line.id));
        }
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    assert!(listed.is_empty(), "no line has the ids {:?}", listed.keys());
}

#[test]
fn at_least_forty_lines_are_refused_for_a_name_that_is_too_long_or_empty() {
    let refused = differences();
    let refused = refused
        .iter()
        .filter(|difference| difference.ours.contains("rendered-names"));
    assert!(refused.count() >= 40);
}

/// An API server would not hand these specs to us: it refuses them, sorts their keys or rewrites their numbers. They hold
/// for files of JSON, whose literals and order are kept; all other lines hold for both.
#[test]
fn it_is_said_of_every_line_whether_an_api_server_can_deliver_it() {
    let only_in_files: Vec<_> = lines()
        .into_iter()
        .filter(|line| line.id.starts_with("quirk-") || has_rewritten_number(&line.spec))
        .map(|line| line.id)
        .collect();
    let listed: Vec<_> = include_str!("golden/only-in-files.txt").lines().collect();
    assert_eq!(only_in_files, listed);
}

fn has_rewritten_number(value: &Value) -> bool {
    match value {
        Value::Number(literal) => {
            let served = number::api_server(literal.as_str());
            number::python(&served) != number::python(literal.as_str())
        }
        Value::Array(elements) => elements.iter().any(has_rewritten_number),
        Value::Object(fields) => fields.values().any(has_rewritten_number),
        _ => false,
    }
}
