//! What makes a RolloutAnalysis invalid: the table of rules, and the functions that find their faults. Webhook,
//! controller and command line all ask here.
//!
//! Must never stop at the first fault. The rules judge a raw object, so that one field of a wrong type hides no fault of
//! another: what is of a wrong type is the first rule's matter, and the others pass over it.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::promql::{self, Known};
use super::schema;
use super::variables::{NoVariable, QueryTemplate};
use crate::api::RolloutAnalysisSpec;
use crate::api::rollout_analysis::{
    DURATION, INITIAL_DELAY_RANGE, INTERVAL_RANGE, LIMITS_CROSSED, METRIC_NAME, NO_LIMIT, TARGET_NAME,
};
use crate::core::duration::whole_duration;
use crate::core::names::is_dns_subdomain;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding, Violation};

/// A rule: its name, by which a fault is found again, and what it finds.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisRule {
    /// Its name; an API, as `rule` of the output of `validate`.
    pub name: &'static str,
    /// What it asks for, a sentence.
    pub asks: &'static str,
    /// Everything it says of a fault; what stands in braces depends on the object.
    pub messages: &'static [&'static str],
    /// An analysis' `spec` that it refuses, as far as it matters: YAML.
    pub example: &'static str,
    /// Finds its faults in a raw object with its defaults.
    check: fn(&Value) -> Vec<Finding>,
}

/// Every rule, in the order in which faults are told.
pub const ANALYSIS_RULES: &[AnalysisRule] = &[
    AnalysisRule {
        name: "analysis-fields",
        asks: "Every field has the type, the length and the range that the API gives it, and required ones are there.",
        messages: &[
            "must be set",
            "must be {type}",
            "is null, must be {type}, or be left out",
            "must be one of {values}",
            "must not be empty",
            "has {length} characters, at most {max} are allowed",
            "has {count} entries, at most {max} are allowed",
            "is {value}, must be from {min} to {max}",
        ],
        example: "failureLimit: 0",
        check: schema::faults,
    },
    AnalysisRule {
        name: "analysis-target",
        asks: "The target has a name that an object can have.",
        messages: &[TARGET_NAME],
        example: "target: {kind: Deployment, name: Checkout}",
        check: target,
    },
    AnalysisRule {
        name: "measurement-times",
        asks: "`interval` and `initialDelay` are durations in their range.",
        messages: &[DURATION, INTERVAL_RANGE, INITIAL_DELAY_RANGE],
        example: "interval: 1s",
        check: times,
    },
    AnalysisRule {
        name: "metric-names",
        asks: "Metrics are named with letters, digits, `-`, `_` and `.`, and no two of them alike.",
        messages: &[METRIC_NAME, "is the name of another metric: choose another name"],
        example: "metrics: [{name: a b, query: up, minValue: 1}]",
        check: metric_names,
    },
    AnalysisRule {
        name: "metric-limits",
        asks: "Each metric has a limit, and a value can lie between its two.",
        messages: &[NO_LIMIT, LIMITS_CROSSED],
        example: "metrics: [{name: latency, query: up, minValue: 2, maxValue: 1}]",
        check: limits,
    },
    AnalysisRule {
        name: "query-variables",
        asks: "Queries have variables that exist.",
        messages: &["has the unknown variable $({name}): {known}", UNCLOSED],
        example: "metrics: [{name: latency, query: 'up{pod=~\"$(pods)\"}', minValue: 1}]",
        check: variables,
    },
    AnalysisRule {
        name: "query-result",
        asks: "A query results in one value a series, as far as it can be read.",
        messages: &["results in {type}, must be an instant vector or a scalar"],
        example: "metrics: [{name: latency, query: 'up[5m]', minValue: 1}]",
        check: results,
    },
];

const UNCLOSED: &str = "has a $( without its ): write $$( for a literal $(";
const KNOWN_VARIABLES: &str =
    "there are namespace, name, revision, canaryPods and primaryPods; write $$( for a literal $(";

/// Every fault of a raw object whose defaults are written, with the name of its rule.
pub(super) fn faults(object: &Value) -> Vec<(&'static str, Finding)> {
    let found = ANALYSIS_RULES.iter().flat_map(|rule| {
        let findings = (rule.check)(object);
        findings.into_iter().map(|finding| (rule.name, finding))
    });
    found.collect()
}

/// Every fault of a spec that has been read.
pub(super) fn violations(spec: &RolloutAnalysisSpec) -> Vec<Violation> {
    // A number that JSON does not have becomes null there, and is a fault as such. Nothing else can fail.
    let object = json!({ "spec": serde_json::to_value(spec).unwrap_or_default() });
    let found = faults(&object).into_iter();
    found.map(|(rule, finding)| finding.under(rule)).collect()
}

/// The metrics of a raw object, each with its path, as far as they are objects.
pub(super) fn metrics(object: &Value) -> impl Iterator<Item = (FieldPath, &Value)> {
    let metrics = object.pointer("/spec/metrics").and_then(Value::as_array);
    let metrics = metrics.into_iter().flatten().enumerate();
    metrics
        .filter(|(_, metric)| metric.is_object())
        .map(|(index, metric)| (FieldPath::spec("metrics").index(index), metric))
}

/// The text in a field of a metric, if it is one that is not empty.
pub(super) fn text<'v>(metric: &'v Value, field: &str) -> Option<&'v str> {
    metric.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// The query of a metric, if it has one whose variables exist.
pub(super) fn template(metric: &Value) -> Option<QueryTemplate> {
    QueryTemplate::parse(text(metric, "query")?).ok()
}

fn invalid(path: FieldPath, message: impl Into<String>) -> Finding {
    Finding::of_value(path, FaultKind::Invalid, message)
}

fn target(object: &Value) -> Vec<Finding> {
    let name = object.pointer("/spec/target/name").and_then(Value::as_str);
    let name = name.filter(|name| !name.is_empty() && !is_dns_subdomain(name));
    let fault = name.map(|_| invalid(FieldPath::spec("target").key("name"), TARGET_NAME));
    fault.into_iter().collect()
}

fn times(object: &Value) -> Vec<Finding> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let fields = [
        ("interval", Duration::from_secs(5), INTERVAL_RANGE),
        ("initialDelay", Duration::ZERO, INITIAL_DELAY_RANGE),
    ];
    let found = fields.into_iter().filter_map(|(field, min, range)| {
        let text = object.get("spec")?.get(field)?.as_str()?;
        let fault = match whole_duration(text) {
            None => DURATION,
            Some(time) if (min..=DAY).contains(&time) => return None,
            Some(_) => range,
        };
        Some(invalid(FieldPath::spec(field), fault))
    });
    found.collect()
}

fn metric_names(object: &Value) -> Vec<Finding> {
    let mut taken = HashSet::new();
    let found = metrics(object).filter_map(|(path, metric)| {
        let name = text(metric, "name")?;
        let path = path.key("name");
        if !is_metric_name(name) {
            return Some(invalid(path, METRIC_NAME));
        }
        let message = "is the name of another metric: choose another name";
        (!taken.insert(name)).then(|| Finding::of_value(path, FaultKind::Duplicate, message))
    });
    found.collect()
}

fn is_metric_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.chars().all(is_inner) && is_end(name.chars().next()) && is_end(name.chars().next_back())
}

fn limits(object: &Value) -> Vec<Finding> {
    let found = metrics(object).filter_map(|(path, metric)| {
        let (max, min) = (metric.get("maxValue"), metric.get("minValue"));
        if max.is_none() && min.is_none() {
            return Some(Finding::of_value(path, FaultKind::Required, NO_LIMIT));
        }
        let (max, min) = (max?.as_f64()?, min?.as_f64()?);
        (min > max).then(|| invalid(path.key("minValue"), LIMITS_CROSSED))
    });
    found.collect()
}

fn variables(object: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, metric) in metrics(object) {
        let query = text(metric, "query").map(QueryTemplate::parse);
        for fault in query.and_then(Result::err).into_iter().flatten() {
            let message = match fault {
                NoVariable::Unknown(name) => format!("has the unknown variable $({name}): {KNOWN_VARIABLES}"),
                NoVariable::Unclosed => UNCLOSED.to_owned(),
            };
            found.push(invalid(path.clone().key("query"), message));
        }
    }
    found
}

fn results(object: &Value) -> Vec<Finding> {
    let found = metrics(object).filter_map(|(path, metric)| match promql::known(&template(metric)?) {
        Known::Useless(what) => {
            let message = format!("results in {what}, must be an instant vector or a scalar");
            Some(invalid(path.key("query"), message))
        }
        Known::Usable | Known::Unread(_) => None,
    });
    found.collect()
}

#[cfg(test)]
mod tests;
