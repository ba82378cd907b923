//! The manifests of `tests/fixtures` and what is said of them, without a cluster: each rule of validation and each limit
//! of the schema has one that it refuses and one that it accepts, and the two agree.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails as the test itself does: with a message"
)]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use streaming_operator::api::manifests;
use streaming_operator::api::meta::KIND;
use streaming_operator::core::validation::{RULES, WARNING_RULES, validate};
use streaming_operator::core::violation::Violation;
use testkit::fixtures::{self, Cause, RuleFixture};
use testkit::listed::{Unsaid, is_listed};

/// Every manifest of a rule, with the one that it would replace where it is refused only then.
fn all() -> Vec<(RuleFixture, Option<Value>)> {
    let all = fixtures::rules().expect("the fixtures can be read");
    let accepted = |rule: &str| {
        let found = all.iter().find(|other| other.rule == rule && !other.is_refused());
        found.map(|found| found.object.clone())
    };
    let with_old = |fixture: &RuleFixture| {
        let old = fixture
            .answer
            .replaces
            .then(|| accepted(&fixture.rule).expect("one to replace"));
        (fixture.clone(), old)
    };
    all.iter().map(with_old).collect()
}

fn faults(object: &Value, old: Option<&Value>) -> Vec<Violation> {
    validate(object, old).violations
}

#[test]
fn every_rule_has_a_manifest_that_it_refuses_and_one_that_it_accepts() {
    let expected: BTreeSet<(&str, bool)> = RULES
        .iter()
        .flat_map(|rule| [(rule.name, false), (rule.name, true)])
        .collect();
    let all = all();
    let found: BTreeSet<(&str, bool)> = all
        .iter()
        .map(|(fixture, _)| (fixture.rule.as_str(), fixture.is_refused()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_said_of_each_manifest_is_what_stands_beside_it() {
    for (fixture, old) in all() {
        let said: Vec<Cause> = faults(&fixture.object, old.as_ref())
            .into_iter()
            .map(|fault| Cause {
                rule: (fault.rule != fixture.rule).then(|| fault.rule.to_owned()),
                field: fault.path,
                reason: fault.kind.as_str().to_owned(),
                message: fault.message,
            })
            .collect();
        assert_eq!(said, fixture.answer.faults, "{}/{}", fixture.rule, fixture.name);
        assert_eq!(
            said.is_empty(),
            !fixture.is_refused(),
            "{}/{}",
            fixture.rule,
            fixture.name
        );
    }
}

#[test]
fn every_message_that_a_rule_lists_is_said_of_a_manifest_and_no_other() {
    let mut unsaid = Unsaid::of(RULES.iter().map(|rule| (rule.name, rule.messages)));
    for (fixture, old) in all() {
        for fault in faults(&fixture.object, old.as_ref()) {
            let rule = RULES
                .iter()
                .find(|rule| rule.name == fault.rule)
                .expect("a rule of the table");
            unsaid.said(rule.name, rule.messages, &fault.message);
        }
    }
    unsaid.assert_none();
}

/// The object with each value in it, one at a time, replaced by another.
fn spoilt(object: &Value) -> Vec<Value> {
    fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.replace('/', "~1"), value))
                .collect(),
            Value::Array(elements) => elements.iter().enumerate().map(|(i, e)| (i.to_string(), e)).collect(),
            _ => Vec::new(),
        };
        for (key, value) in children {
            let at = format!("{at}/{key}");
            pointers(value, &at, found);
            found.push(at);
        }
    }
    let mut found = Vec::new();
    pointers(&object["spec"], "/spec", &mut found);
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("A b"),
        json!([1]),
        json!({"a": 1}),
    ];
    let mut spoilt = Vec::new();
    for pointer in found {
        for value in &values {
            let mut object = object.clone();
            *object.pointer_mut(&pointer).expect("it is there") = value.clone();
            spoilt.push(object);
        }
    }
    spoilt
}

#[test]
fn whatever_is_wrong_is_said_in_a_message_that_is_listed() {
    let mut judged = 0;
    // The large ones hold nothing that others do not.
    let accepted = all()
        .into_iter()
        .filter(|(fixture, _)| !fixture.is_refused() && fixture.text.len() < 10_000);
    for (fixture, _) in accepted {
        for object in spoilt(&fixture.object) {
            judged += 1;
            for fault in faults(&object, None) {
                let rule = RULES
                    .iter()
                    .find(|rule| rule.name == fault.rule)
                    .expect("a rule of the table");
                assert!(
                    rule.messages.iter().any(|listed| is_listed(&fault.message, listed)),
                    "{}: not listed: {}",
                    rule.name,
                    fault.message
                );
            }
        }
    }
    assert!(judged > 3_000, "only {judged} objects");
}

#[test]
fn the_example_of_a_rule_is_refused_by_it() {
    // One that begins with a comment says in it what YAML of that length cannot.
    for rule in RULES.iter().filter(|rule| !rule.example.starts_with('#')) {
        let edit: Value = serde_saphyr::from_str(rule.example).expect("YAML");
        let found = faults(&fixtures::edited("checkout", &edit), None);
        assert!(
            found.iter().any(|fault| fault.rule == rule.name),
            "{}: {found:?}",
            rule.name
        );
    }
}

#[test]
fn a_message_names_the_value_or_what_it_must_be_and_ends_without_a_full_stop() {
    for message in RULES.iter().flat_map(|rule| rule.messages) {
        assert!(
            message.len() > 8 && !message.ends_with('.') || message.ends_with(" and ."),
            "{message}"
        );
    }
}

/// Whether a warning's path, of which the middle may be cut out, is that of a field.
fn is_of(path: &str, field: &str) -> bool {
    path.split_once('…').map_or(path == field, |(head, tail)| {
        field.starts_with(head) && field.ends_with(tail)
    })
}

#[test]
fn a_fault_of_the_old_object_is_a_warning() {
    // But for the size of the whole spec, which every edit makes another one, and for what an edit itself is.
    let refused = all()
        .into_iter()
        .filter(|(fixture, old)| fixture.is_refused() && fixture.rule != "spec-size" && old.is_none());
    for (fixture, _) in refused {
        let mut new = fixture.object.clone();
        new["spec"]["suspend"] = json!(true);
        let verdict = validate(&new, Some(&fixture.object));
        assert_eq!(verdict.violations, [], "{}/{}", fixture.rule, fixture.name);
        let first = &fixture.answer.faults[0];
        let warned = verdict.warnings.iter().any(|warning| {
            is_of(&warning.path, &first.field) && warning.message.starts_with("(fault of the stored object) ")
        });
        assert!(warned, "{}/{}: {:?}", fixture.rule, fixture.name, verdict.warnings);
    }
}

/// Every limit of the schema below `spec`: path and keyword, and for rules in CEL their text.
fn constraints() -> BTreeSet<String> {
    const KEYWORDS: [&str; 13] = [
        "type",
        "format",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
        "enum",
        "multipleOf",
        "uniqueItems",
        "x-kubernetes-int-or-string",
    ];
    fn walk(path: &str, schema: &Value, found: &mut BTreeSet<String>) {
        let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        found.extend(list("required").map(|field| format!("{path} required {}", field.as_str().expect("a name"))));
        found.extend(list("x-kubernetes-validations").map(|rule| {
            let rule = rule["rule"].as_str().expect("its text");
            format!("{path} rule: {rule}")
        }));
        let has = KEYWORDS
            .iter()
            .filter(|keyword| schema.get(**keyword).is_some() && path != "spec");
        found.extend(has.map(|keyword| format!("{path} {keyword}")));
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            walk(&format!("{path}.{name}"), property, found);
        }
        for unknown in ["allOf", "anyOf", "oneOf", "not", "items"] {
            assert!(
                schema.get(unknown).is_none(),
                "{path}: this test does not walk {unknown}"
            );
        }
    }
    let mut found = BTreeSet::new();
    let schema = serde_json::to_value(manifests::schema_of(KIND)).expect("JSON");
    walk("spec", &schema["properties"]["spec"], &mut found);
    found
}

#[test]
fn every_limit_of_the_schema_has_an_object_that_it_refuses_and_one_that_it_accepts() {
    let cases = fixtures::schema().expect("the table can be read");
    let listed: BTreeSet<String> = cases.into_iter().map(|case| case.constraint).collect();
    assert_eq!(listed, constraints());
}

/// Else an object would be refused or not with who saw it first, and a file found valid that the API server refuses.
#[test]
fn validation_refuses_what_the_schema_refuses_and_accepts_what_it_accepts() {
    for case in fixtures::schema().expect("the table can be read") {
        let stored = case.stored.as_ref().map(|edit| fixtures::edited("checkout", edit));
        let accepted = fixtures::edited("checkout", &case.accepted);
        assert_eq!(faults(&accepted, stored.as_ref()), [], "{}", case.constraint);
        let refused = fixtures::edited("checkout", &case.refused);
        let found = faults(&refused, stored.as_ref());
        let field = case.causes[0].field.trim_start_matches('.');
        assert!(
            found.iter().any(|fault| fault.path == field),
            "{}: {field} is refused by the schema, and validation says {found:?}",
            case.constraint
        );
    }
}

/// The text of every file of the program, without its tests and without white space.
fn sources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a file");
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            found.push(text.split_whitespace().collect());
        }
    }
    found
}

/// The names that stand in `sources` where a fault or a warning gets its rule: as texts, or as constants.
fn names_of_rules(sources: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for marker in ["rule:", ".under(", "warning("] {
        for after in sources.iter().flat_map(|text| text.split(marker).skip(1)) {
            if let Some(text) = after.strip_prefix('"') {
                names.insert(text.split('"').next().expect("a text").to_owned());
                continue;
            }
            let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
            let constant = after[..end.unwrap_or(after.len())].rsplit("::").next().expect("a name");
            if constant.is_empty() || constant.contains(|c: char| c.is_ascii_lowercase() || c == ':') {
                continue;
            }
            let definition = format!("{constant}:&str=\"");
            let values = sources.iter().flat_map(|text| text.split(&definition).skip(1));
            names.extend(values.map(|value| value.split('"').next().expect("a text").to_owned()));
        }
    }
    names
}

#[test]
fn every_name_that_a_fault_or_a_warning_can_have_stands_in_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/rules.md")).expect("the documentation");
    let is_listed = |name: &str| text.contains(&format!("\n## {name}\n")) || text.contains(&format!("\n| `{name}` |"));
    let mut names = names_of_rules(&sources(&root.join("src")));
    for found in [
        "metadata",
        "duplicate-keys",
        "duplicate-pipelines",
        "api-server",
        "NameCollision",
        "unknown-field",
        "grace-period",
        "more-warnings",
    ] {
        assert!(
            names.contains(found),
            "the source is read wrongly: {found} is not among {names:?}"
        );
    }
    for (fixture, old) in all() {
        let verdict = validate(&fixture.object, old.as_ref());
        names.extend(verdict.violations.iter().map(|fault| fault.rule.to_owned()));
        names.extend(verdict.warnings.iter().map(|warning| warning.rule.to_owned()));
    }
    let missing: Vec<_> = names.iter().filter(|name| !is_listed(name)).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn every_warning_that_is_listed_is_one_that_the_program_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = names_of_rules(&sources(&root.join("src")));
    for rule in WARNING_RULES {
        assert!(names.contains(rule.name), "{} is said of nothing", rule.name);
    }
}
