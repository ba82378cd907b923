//! Rules on what is rendered: names and labels that the API server would refuse, or that would be cut.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;

use super::Subject;
use super::fields::CONTAINER_NAME_LENGTH_MAX;
use super::pod::{SOURCE_CONTAINERS, rendered_list};
use super::source::{source, template_source};
use crate::core::names::{self, BASE_NAME_LENGTH_MAX, BaseName, LABEL_LENGTH_MAX};
use crate::core::path::{FieldPath, Step};
use crate::core::violation::{FaultKind, Finding};

/// Rule: no part of a name is empty, and base names leave room for ordinal and generation.
pub(super) fn names(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (field, text) in [
        ("service_name", subject.spec.service_name.as_str()),
        ("pipeline_name", subject.pipeline_name.as_str()),
    ] {
        // An empty text is a fault of its own.
        if !text.is_empty() && names::mangle(text).is_empty() {
            let message = "must have a letter or digit of a-z, 0-9: nothing of it can stand in a name";
            findings.push(Finding::of_value(FieldPath::spec(field), FaultKind::Invalid, message));
        }
    }
    let composition = &subject.composition;
    let canary = subject.spec.with_canary.then_some(&composition.canary_base);
    // One fault, of the longer name, is enough.
    let base = canary.unwrap_or(&composition.primary_base);
    if let Some(message) = name_fault(base) {
        let longer = if subject.spec.service_name.len() > subject.pipeline_name.len() {
            "service_name"
        } else {
            "pipeline_name"
        };
        findings.push(Finding::of_rendered(
            FieldPath::spec(longer),
            FaultKind::TooLong,
            message,
        ));
    }
    findings
}

/// What is wrong with a base name.
pub(super) fn name_fault(base: &str) -> Option<String> {
    if BaseName::parse(base).is_some() {
        return None;
    }
    Some(format!(
        "makes the name {base} of {} characters, at most {BASE_NAME_LENGTH_MAX} leave room for ordinal and generation",
        base.len()
    ))
}

/// Rule: labels are such that the API server takes them.
pub(super) fn labels(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (label, field) in [("pipeline", "pipeline_name"), ("service", "service_name")] {
        let length = subject.composition.labels.get(label).map_or(0, String::len);
        if length > LABEL_LENGTH_MAX {
            let message = format!("makes a label of {length} characters, at most {LABEL_LENGTH_MAX} are allowed");
            findings.push(Finding::of_rendered(
                FieldPath::spec(field),
                FaultKind::TooLong,
                message,
            ));
        }
    }
    let ours = &subject.composition.labels;
    let labels = metadata(subject, "labels");
    for (key, value) in labels.filter(|(key, _)| !ours.contains_key(*key)) {
        let fault = label_key_fault(key).or_else(|| value.as_str().and_then(label_value_fault));
        findings.extend(fault.map(|message| of_metadata(subject, "labels", key, message)));
    }
    for (key, _) in metadata(subject, "annotations") {
        let fault = annotation_key_fault(key);
        findings.extend(fault.map(|message| of_metadata(subject, "annotations", key, message)));
    }
    findings
}

fn metadata<'s>(subject: &'s Subject<'_>, field: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    let metadata = subject.composition.primary.get("metadata");
    let entries = metadata
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_object);
    entries.into_iter().flatten()
}

fn of_metadata(subject: &Subject<'_>, field: &str, key: &str, message: String) -> Finding {
    let steps = ["metadata", field, key].map(|key| Step::Key(key.to_owned()));
    Finding::of_rendered(source(subject, &steps), FaultKind::Invalid, message)
}

/// The key of an annotation: that of a label, in any case (k8s.io/apimachinery `ValidateAnnotations`).
pub(super) fn annotation_key_fault(key: &str) -> Option<String> {
    label_key_fault(&key.to_lowercase())
}

/// The key of a label: an optional DNS prefix and a name (Kubernetes, "Labels and Selectors").
pub(super) fn label_key_fault(key: &str) -> Option<String> {
    let (prefix, name) = key
        .rsplit_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_is_valid = prefix.is_none_or(names::is_dns_subdomain);
    if prefix_is_valid && !name.is_empty() && is_label_text(name) {
        return None;
    }
    Some("is no key of a label: an optional DNS name and /, then 1 to 63 of A-Z, a-z, 0-9, -, _ and .".to_owned())
}

/// The value of a label, which may be empty.
pub(super) fn label_value_fault(value: &str) -> Option<String> {
    if is_label_text(value) {
        return None;
    }
    Some("is no value of a label: at most 63 of A-Z, a-z, 0-9, -, _ and ., the first and last alphanumeric".to_owned())
}

fn is_label_text(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let outer = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    text.len() <= LABEL_LENGTH_MAX
        && text.bytes().all(inner)
        && outer(text.bytes().next())
        && outer(text.bytes().last())
}

/// Rule: containers and volumes are named with DNS labels.
pub(super) fn element_names(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for list in SOURCE_CONTAINERS.iter().chain(&["volumes"]) {
        for (index, element) in rendered_list(subject, list).iter().enumerate() {
            let Some(name) = element.get("name").and_then(Value::as_str) else {
                continue;
            };
            // The consumer's name that is empty or too long is a fault of its field.
            let is_consumer = *list == "containers" && index == subject.composition.consumer_index;
            let is_told = is_consumer && !(1..=CONTAINER_NAME_LENGTH_MAX).contains(&name.chars().count());
            if !names::is_dns_label(name) && !is_told {
                let message = format!("{name:?} is no name of a container or volume: 1 to 63 of a-z, 0-9 and -");
                let path = name_path(subject, list, index);
                findings.push(Finding::of_rendered(path, FaultKind::Invalid, message));
            }
        }
    }
    findings
}

/// Rule: names of containers and of volumes, and the paths of a container's mounts, occur once.
pub(super) fn duplicates(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeMap::new();
    // Init containers and containers share one set of names.
    for (list, what) in [
        ("initContainers", "container"),
        ("containers", "container"),
        ("volumes", "volume"),
    ] {
        for (index, element) in rendered_list(subject, list).iter().enumerate() {
            let Some(name) = element.get("name").and_then(Value::as_str) else {
                continue;
            };
            match seen.entry((what, name)) {
                Entry::Vacant(entry) => {
                    entry.insert((list, index));
                }
                Entry::Occupied(first) => {
                    let (first_list, first_index) = first.get();
                    let twins = [name_steps(list, index), name_steps(first_list, *first_index)];
                    let message = format!("another {what} of the Pod is named {name:?}: choose another name");
                    findings.push(duplicate(subject, &twins, message));
                }
            }
        }
    }
    for list in SOURCE_CONTAINERS {
        for (index, container) in rendered_list(subject, list).iter().enumerate() {
            findings.extend(duplicate_mounts(subject, list, index, container));
        }
    }
    findings
}

fn duplicate_mounts(subject: &Subject<'_>, list: &str, index: usize, container: &Value) -> Vec<Finding> {
    let mut seen = BTreeMap::new();
    let mounts = container.get("volumeMounts").and_then(Value::as_array);
    let mut findings = Vec::new();
    for (mount_index, mount) in mounts.into_iter().flatten().enumerate() {
        let Some(path) = mount.get("mountPath").and_then(Value::as_str) else {
            continue;
        };
        if let Some(first) = seen.insert(path, mount_index) {
            let message = format!("another volume is mounted at {path:?} in the container: choose another path");
            let twins = [mount_index, first].map(|mount_index| {
                let keys = ["spec", list].map(|key| Step::Key(key.to_owned()));
                let mut steps = Vec::from(keys);
                steps.push(Step::Index(index));
                steps.push(Step::Key("volumeMounts".to_owned()));
                steps.push(Step::Index(mount_index));
                steps.push(Step::Key("mountPath".to_owned()));
                steps
            });
            findings.push(duplicate(subject, &twins, message));
        }
    }
    findings
}

/// A duplicate at the one of the two places that a template sets: the other may be the operator's own.
fn duplicate(subject: &Subject<'_>, twins: &[Vec<Step>; 2], message: String) -> Finding {
    let [later, first] = twins;
    let path = template_source(subject, later)
        .or_else(|| template_source(subject, first))
        .unwrap_or_else(|| source(subject, later));
    Finding::of_rendered(path, FaultKind::Duplicate, message)
}

fn name_steps(list: &str, index: usize) -> Vec<Step> {
    let mut steps = Vec::from(["spec", list].map(|key| Step::Key(key.to_owned())));
    steps.push(Step::Index(index));
    steps.push(Step::Key("name".to_owned()));
    steps
}

/// Where the name of an element of a list of the Pod's spec comes from.
fn name_path(subject: &Subject<'_>, list: &str, index: usize) -> FieldPath {
    if list == "containers" && index == subject.composition.consumer_index {
        return FieldPath::spec("container_name");
    }
    source(subject, &name_steps(list, index))
}
