//! What the API server itself says of `metadata`, before it asks any webhook: for files that it has not seen.
//!
//! Must never be among the rules of the webhook: there the answer is the API server's.

use serde_json::{Map, Value};

use super::rendered::{annotation_key_fault, label_key_fault, label_value_fault};
use crate::core::names;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding, Violation};

/// Name of the faults.
pub const METADATA: &str = "metadata";

/// Longest annotations of an object, keys and values together (k8s.io/apimachinery
/// `validation.TotalAnnotationSizeLimitB`).
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Every fault of an object's `metadata`, by the rules of the API server (k8s.io/apimachinery `ValidateObjectMeta`): a
/// name or a prefix of one, a namespace, labels and annotations. What the API server writes itself is not judged.
#[must_use]
pub fn metadata(object: &Value) -> Vec<Violation> {
    let none = Map::new();
    let metadata = match object.get("metadata") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return vec![must_be("an object", path(&[])).under(METADATA)],
    };
    let mut found = names(metadata);
    found.extend(texts(metadata, "labels", |key, value| {
        label_key_fault(key).or_else(|| label_value_fault(value))
    }));
    found.extend(texts(metadata, "annotations", |key, _| annotation_key_fault(key)));
    found.extend(annotations_size(metadata));
    found.into_iter().map(|finding| finding.under(METADATA)).collect()
}

fn names(metadata: &Map<String, Value>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut text = |field: &str| match metadata.get(field) {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text,
        Some(_) => {
            found.push(must_be("a string", path(&[field])));
            "x"
        }
    };
    let (name, prefix, namespace) = (text("name"), text("generateName"), text("namespace"));
    let mut judge = |field: &str, is_valid: bool, message: &str| {
        if !is_valid {
            found.push(Finding::of_value(path(&[field]), FaultKind::Invalid, message));
        }
    };
    let message = "is no name: at most 253 of a-z, 0-9, - and ., each part between dots beginning and ending with a \
                   letter or digit";
    judge("name", name.is_empty() || names::is_dns_subdomain(name), message);
    // A hyphen at its end is not at the end of the name that is made of it.
    let made = if prefix.ends_with('-') {
        format!("{prefix}a")
    } else {
        prefix.to_owned()
    };
    judge(
        "generateName",
        made.is_empty() || names::is_dns_subdomain(&made),
        message,
    );
    judge(
        "namespace",
        namespace.is_empty() || names::is_dns_label(namespace),
        "is no name of a namespace: 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
    );
    if name.is_empty() && prefix.is_empty() {
        let message = "must be set, or metadata.generateName";
        found.push(Finding::of_value(path(&["name"]), FaultKind::Required, message));
    }
    found
}

/// The faults of a map of texts.
fn texts(metadata: &Map<String, Value>, field: &str, fault: impl Fn(&str, &str) -> Option<String>) -> Vec<Finding> {
    let entries = match metadata.get(field) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(entries)) => entries,
        Some(_) => return vec![must_be("an object of strings", path(&[field]))],
    };
    let found = entries.iter().filter_map(|(key, value)| {
        let at = path(&[field, key]);
        match value {
            Value::String(value) => {
                let message = fault(key, value)?;
                Some(Finding::of_value(at, FaultKind::Invalid, message))
            }
            // The API server reads it as an empty text.
            Value::Null => None,
            _ => Some(must_be("a string: put it in quotes", at)),
        }
    });
    found.collect()
}

fn annotations_size(metadata: &Map<String, Value>) -> Option<Finding> {
    let entries = metadata.get("annotations").and_then(Value::as_object)?;
    let length: usize = entries
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    let message = format!("have {length} bytes, keys and values together; at most {ANNOTATIONS_BYTES_MAX} are allowed");
    (length > ANNOTATIONS_BYTES_MAX).then(|| Finding::of_value(path(&["annotations"]), FaultKind::TooLong, message))
}

fn must_be(what: &str, path: FieldPath) -> Finding {
    Finding::of_value(path, FaultKind::TypeInvalid, format!("must be {what}"))
}

fn path(fields: &[&str]) -> FieldPath {
    fields
        .iter()
        .fold(FieldPath::default().key("metadata"), |path, field| path.key(field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(metadata: &Value) -> Vec<(String, &'static str)> {
        let found = super::metadata(&json!({"metadata": metadata})).into_iter();
        found.map(|fault| (fault.path, fault.kind.as_str())).collect()
    }

    fn only(path: &str, reason: &'static str) -> Vec<(String, &'static str)> {
        vec![(path.to_owned(), reason)]
    }

    #[test]
    fn names_that_the_api_server_takes_are_no_fault() {
        for name in [
            "a",
            "0",
            "a-b.c-d",
            "1.2.3",
            &"a".repeat(253),
            &format!("{}.b", "a".repeat(70)),
        ] {
            assert_eq!(faults(&json!({"name": name})), [], "{name}");
        }
        for prefix in ["a-", "a", "a.b-", "a--"] {
            assert_eq!(faults(&json!({"generateName": prefix})), [], "{prefix}");
        }
    }

    #[test]
    fn names_that_it_refuses_are_invalid() {
        for name in [
            "A",
            "a_b",
            "a b",
            "-a",
            "a-",
            ".a",
            "a..b",
            "a/b",
            "é",
            &"a".repeat(254),
        ] {
            assert_eq!(
                faults(&json!({"name": name})),
                only("metadata.name", "FieldValueInvalid"),
                "{name}"
            );
        }
        for prefix in ["A-", "a.", "-", "a.-"] {
            let expected = only("metadata.generateName", "FieldValueInvalid");
            assert_eq!(faults(&json!({"generateName": prefix})), expected, "{prefix}");
        }
        for namespace in ["A", "a.b", &"a".repeat(64)] {
            let expected = only("metadata.namespace", "FieldValueInvalid");
            assert_eq!(
                faults(&json!({"name": "a", "namespace": namespace})),
                expected,
                "{namespace}"
            );
        }
    }

    #[test]
    fn a_name_or_a_prefix_of_one_is_required() {
        let expected = only("metadata.name", "FieldValueRequired");
        for metadata in [json!(null), json!({}), json!({"name": ""}), json!({"name": null})] {
            assert_eq!(faults(&metadata), expected, "{metadata}");
        }
    }

    #[test]
    fn what_is_of_another_type_is_said_where_it_stands() {
        assert_eq!(faults(&json!([])), only("metadata", "FieldValueTypeInvalid"));
        assert_eq!(
            faults(&json!({"name": 5})),
            only("metadata.name", "FieldValueTypeInvalid")
        );
        assert_eq!(
            faults(&json!({"name": "a", "labels": {"a": 1, "b": null}, "annotations": ["x"]})),
            [
                ("metadata.labels.a".to_owned(), "FieldValueTypeInvalid"),
                ("metadata.annotations".to_owned(), "FieldValueTypeInvalid")
            ]
        );
    }

    #[test]
    fn labels_are_keys_and_values_of_labels_and_annotations_have_keys_of_any_case() {
        let metadata = json!({"name": "a", "labels": {
            "a": "", "x.y/z_1": "B.c", "bad key": "v", "UPPER.x/a": "v", "long": "v".repeat(64), "end": "v-",
        }, "annotations": {"UPPER.x/a": "any text", "bad key": ""}});
        let paths: Vec<_> = faults(&metadata).into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "metadata.labels[bad key]",
                "metadata.labels[UPPER.x/a]",
                "metadata.labels.long",
                "metadata.labels.end",
                "metadata.annotations[bad key]"
            ]
        );
    }

    #[test]
    fn annotations_have_room_for_256_kib() {
        let of = |length: usize| json!({"name": "a", "annotations": {"k": "v".repeat(length - 1)}});
        assert_eq!(faults(&of(262_144)), []);
        assert_eq!(faults(&of(262_145)), only("metadata.annotations", "FieldValueTooLong"));
    }
}
