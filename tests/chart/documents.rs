//! What the documentation says of the chart is so.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testkit::assets;

use crate::helm::objects;

fn page(name: &str) -> String {
    std::fs::read_to_string(assets::repository().join("docs").join(name)).unwrap()
}

/// Resource with its group, names, verbs: a row of the table of rights.
type Row = (String, BTreeSet<String>, BTreeSet<String>);

fn words(cell: &str) -> BTreeSet<String> {
    let words = cell.split(',').map(|word| word.trim().trim_matches('`').to_owned());
    words.filter(|word| !word.is_empty() && word != "any").collect()
}

/// The rows of the tables of rights: `| resource | names | verbs | why |`, under headings that say where.
fn documented(text: &str) -> BTreeMap<String, Vec<Row>> {
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut heading = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut heading);
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [resource, names, verbs, why] = cells[..] else {
            continue;
        };
        if !line.starts_with("| `") {
            continue;
        }
        assert!(why.split_whitespace().count() > 3, "no reason: {line}");
        rows.entry(heading.clone()).or_default().push((
            resource.trim_matches('`').to_owned(),
            words(names),
            words(verbs),
        ));
    }
    rows
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// The rows that the rules of a role are, one a resource and its names.
fn rendered(role: &Value) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for rule in role["rules"].as_array().expect("rules") {
        for resource in texts(&rule["resources"]) {
            let group = texts(&rule["apiGroups"]).remove(0);
            let full = if group.is_empty() {
                resource
            } else {
                format!("{resource}.{group}")
            };
            let names = texts(&rule["resourceNames"]).into_iter().collect();
            rows.push((full, names, texts(&rule["verbs"]).into_iter().collect()));
        }
    }
    rows.sort();
    rows
}

#[test]
fn the_page_of_permissions_has_every_right_and_no_other() {
    let documented = documented(&page("permissions.md"));
    let objects = objects(&[
        "--set",
        "watchNamespaces={pipelines},workloadNamespace=pods,settings.legacyNamespace=old",
        "--show-only=templates/rbac.yaml",
        "--show-only=templates/aggregated-roles.yaml",
    ]);
    let mut seen = 0;
    for (heading, role, namespace) in [
        ("In the cluster", "streaming-operator", None),
        ("Where pipelines are", "streaming-operator", Some("pipelines")),
        ("Where Pods run", "streaming-operator", Some("pods")),
        (
            "Where the Python operator ran",
            "streaming-operator-legacy",
            Some("old"),
        ),
        ("In its own namespace", "streaming-operator-own", Some("ops")),
        ("For people: view", "streaming-operator-view", None),
        ("For people: edit", "streaming-operator-edit", None),
        ("For people: admin", "streaming-operator-admin", None),
    ] {
        let role = objects.iter().find(|object| {
            object["metadata"]["name"] == role
                && object["metadata"]["namespace"].as_str() == namespace
                && object["kind"].as_str().is_some_and(|kind| kind.ends_with("Role"))
        });
        let mut rows = documented
            .get(heading)
            .unwrap_or_else(|| panic!("no table under {heading:?}"))
            .clone();
        rows.sort();
        assert_eq!(rows, rendered(role.expect(heading)), "{heading}");
        seen += 1;
    }
    assert_eq!(
        documented.len(),
        seen,
        "a table that no role has: {:?}",
        documented.keys()
    );
}

#[test]
fn every_value_that_a_page_names_exists() {
    let schema = std::fs::read_to_string(assets::repository().join("chart/values.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut checked = 0;
    for name in [
        "install.md",
        "check.md",
        "upgrade.md",
        "uninstall.md",
        "permissions.md",
        "production-checklist.md",
        "gitops.md",
        "troubleshooting.md",
    ] {
        for value in values_set_in(&page(name)) {
            let mut at = &schema;
            for part in value.split('.') {
                at = &at["properties"][part];
                assert!(!at.is_null(), "{name}: {value} is no value of the chart");
            }
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

/// The paths in `--set a.b=c` of a page.
fn values_set_in(text: &str) -> Vec<String> {
    let sets = text
        .split("--set ")
        .skip(1)
        .map(|rest| rest.split([' ', '\n', '`']).next().unwrap_or_default());
    let assignments = sets
        .flat_map(|set| set.split(','))
        .filter_map(|one| one.split_once('='));
    assignments
        .map(|(path, _)| path.trim_matches(['\'', '"']).to_owned())
        .collect()
}

#[test]
fn every_alert_has_a_line_in_troubleshooting() {
    let text = page("troubleshooting.md");
    let rendered = objects(&["--set", "prometheusRule.enabled=true"]);
    let rule = rendered
        .iter()
        .find(|object| object["kind"] == "PrometheusRule")
        .expect("alerts");
    for rule in rule["spec"]["groups"][0]["rules"].as_array().expect("rules") {
        let alert = rule["alert"].as_str().expect("a name");
        assert!(text.contains(&format!("`{alert}`")), "{alert}");
    }
}
