//! The answer to a raw RolloutAnalysis: its faults, and what is worth a warning.
//!
//! Must never refuse an update for a fault that the stored object has already.

use std::collections::BTreeSet;

use serde_json::Value;

use super::defaults::apply_defaults;
use super::promql::{self, Known};
use super::rules::{faults, metrics, template, text};
use crate::core::path::FieldPath;
use crate::core::validation::{Verdict, WarningRule, limit, warning, weigh};
use crate::core::violation::Warning;

/// Name of the warning of a query that cannot be read.
const QUERY_SYNTAX: &str = "query-syntax";
/// Name of the warning of a source that the operator does not have.
const METRICS_SOURCE: &str = "metrics-source";

/// The warnings besides those of old faults, for the documentation.
pub const ANALYSIS_WARNING_RULES: &[WarningRule] = &[
    WarningRule {
        name: METRICS_SOURCE,
        messages: &["the operator has no metrics source of this name; it has {names}"],
    },
    WarningRule {
        name: QUERY_SYNTAX,
        messages: &["may be no PromQL: {why}"],
    },
];

/// Judges a raw RolloutAnalysis (`metadata` and `spec`; defaults that are absent count as written). `old` is the stored
/// object that an update would replace: what is wrong with it too, in the same value at the same path, is a warning and
/// no fault. `sources` are the names of the operator's metrics sources, where they are known: another one is a warning,
/// for it may be configured later.
#[must_use]
pub fn validate(new: &Value, old: Option<&Value>, sources: Option<&BTreeSet<String>>) -> Verdict {
    let new = defaulted(new);
    let found = faults(&new);
    // An old object is judged only when that can make a difference.
    let old = old.filter(|_| !found.is_empty()).map(defaulted);
    let old_faults = old.as_ref().map(faults).unwrap_or_default();
    let mut verdict = weigh(found, &old_faults, old.as_ref().map(|old| (&new, old)));
    verdict.warnings.extend(warnings(&new, sources));
    limit(&mut verdict.warnings);
    verdict
}

fn defaulted(object: &Value) -> Value {
    let mut object = object.clone();
    apply_defaults(&mut object);
    object
}

fn warnings(object: &Value, sources: Option<&BTreeSet<String>>) -> Vec<Warning> {
    let mut found = Vec::new();
    for (path, metric) in metrics(object) {
        if let Some(Known::Unread(why)) = template(metric).as_ref().map(promql::known) {
            let message = format!("may be no PromQL: {why}");
            found.push(warning(QUERY_SYNTAX, &path.clone().key("query"), message));
        }
        let source = text(metric, "source");
        if let Some((_, names)) = source.zip(sources).filter(|(name, names)| !names.contains(*name)) {
            found.push(unknown_source(&path.key("source"), names));
        }
    }
    found
}

fn unknown_source(path: &FieldPath, names: &BTreeSet<String>) -> Warning {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let names = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    };
    let message = format!("the operator has no metrics source of this name; it has {names}");
    warning(METRICS_SOURCE, path, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn analysis(query: &str, interval: &str) -> Value {
        json!({"metadata": {"name": "checkout"}, "spec": {
            "target": {"kind": "Deployment", "name": "checkout"}, "interval": interval,
            "metrics": [{"name": "latency", "query": query, "maxValue": 1}]}})
    }

    fn told(verdict: &Verdict) -> (Vec<String>, Vec<String>) {
        let faults = verdict.violations.iter().map(ToString::to_string).collect();
        (faults, verdict.warnings.iter().map(ToString::to_string).collect())
    }

    fn nothing() -> (Vec<String>, Vec<String>) {
        (Vec::new(), Vec::new())
    }

    #[test]
    fn what_is_left_out_counts_as_its_default() {
        assert_eq!(told(&validate(&analysis("up", "30s"), None, None)), nothing());
    }

    #[test]
    fn a_query_that_cannot_be_read_is_a_warning_and_one_without_values_a_fault() {
        assert_eq!(
            told(&validate(&analysis("sum(up", "30s"), None, None)),
            (
                vec![],
                vec!["spec.metrics[0].query: may be no PromQL: unclosed left parenthesis".to_owned()]
            )
        );
        assert_eq!(
            told(&validate(&analysis("up[5m]", "30s"), None, None)),
            (
                vec![
                    "spec.metrics[0].query: results in a range vector, must be an instant vector or a scalar"
                        .to_owned()
                ],
                vec![]
            )
        );
    }

    #[test]
    fn a_source_is_unknown_only_to_an_operator_that_knows_its_sources() {
        let sources = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let judge = |names: &[&str]| told(&validate(&analysis("up", "30s"), None, Some(&sources(names))));
        assert_eq!(judge(&["default", "other"]), nothing());
        let warned = |has: &str| {
            let path = "spec.metrics[0].source";
            let text = format!("{path}: the operator has no metrics source of this name; it has {has}");
            (vec![], vec![text])
        };
        assert_eq!(judge(&["long-term", "other"]), warned("long-term, other"));
        assert_eq!(judge(&[]), warned("none"));
    }

    #[test]
    fn a_fault_of_the_stored_object_is_a_warning_until_its_value_changes() {
        let stored = analysis("up{a=\"$(pod)\"}", "1s");
        let mut edited = stored.clone();
        edited["spec"]["failureLimit"] = json!(5);
        let (faults, warnings) = told(&validate(&edited, Some(&stored), None));
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(warnings.len(), 2);
        assert_eq!(
            warnings[0],
            "spec.interval: (fault of the stored object) must be from 5s to 24h"
        );
        edited["spec"]["interval"] = json!("2s");
        let (faults, warnings) = told(&validate(&edited, Some(&stored), None));
        assert_eq!(faults, ["spec.interval: must be from 5s to 24h"]);
        assert_eq!(warnings.len(), 1);
    }
}
