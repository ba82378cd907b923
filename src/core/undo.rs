//! Going back to an earlier revision: which one, and the edit that brings it back. Must never change what is no part of a
//! revision.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde_json::{Value, json};

/// Fields of the spec that are no part of a revision, and so stay as they are. The CRD gives each a default, so that all
/// are there.
const KEPT: [&str; 5] = ["replicas", "with_canary", "rollout", "suspend", "revisionHistoryLimit"];

/// A stored revision of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its name: ten hex digits.
    pub revision: String,
    /// When it was stored.
    pub created: Timestamp,
    /// When it last completed; `None`: never.
    pub completed: Option<Timestamp>,
}

/// The revision that an undo without a name goes back to: the one that completed last of those that are not the spec's.
#[must_use]
pub fn target<'a>(history: &'a [Past], update: Option<&str>) -> Option<&'a Past> {
    let others = history.iter().filter(|past| Some(past.revision.as_str()) != update);
    let completed = others.filter(|past| past.completed.is_some());
    completed.min_by_key(|past| Reverse((past.completed, past.created)))
}

/// The JSON patch (RFC 6902) that makes `stored`, the spec as a ControllerRevision has it, the spec of the pipeline with
/// this uid, with the fields kept that are no part of a revision.
#[must_use]
pub fn patch(stored: &Value, uid: &str) -> Value {
    let mut operations = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": uid}),
        json!({"op": "add", "path": "/stored", "value": stored}),
    ];
    for field in KEPT {
        let (from, path) = (format!("/spec/{field}"), format!("/stored/{field}"));
        operations.push(json!({"op": "copy", "from": from, "path": path}));
    }
    operations.push(json!({"op": "move", "from": "/stored", "path": "/spec"}));
    Value::Array(operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(revision: &str, created: i64, completed: Option<i64>) -> Past {
        let at = |second| Timestamp::from_second(second).expect("a time");
        Past {
            revision: revision.to_owned(),
            created: at(created),
            completed: completed.map(at),
        }
    }

    fn chosen(history: &[Past], update: &str) -> Option<String> {
        target(history, Some(update)).map(|past| past.revision.clone())
    }

    #[test]
    fn an_undo_goes_back_to_what_completed_last_before_the_spec() {
        let history = [past("a", 1, Some(10)), past("b", 2, Some(20)), past("c", 3, None)];
        assert_eq!(chosen(&history, "c").as_deref(), Some("b"), "c never completed");
        assert_eq!(chosen(&history, "b").as_deref(), Some("a"));
        let again = [past("a", 1, Some(30)), past("b", 2, Some(20)), past("c", 3, Some(40))];
        assert_eq!(chosen(&again, "c").as_deref(), Some("a"), "a was gone back to after b");
    }

    #[test]
    fn there_is_nothing_to_go_back_to_before_another_revision_has_completed() {
        assert_eq!(chosen(&[past("a", 1, Some(10))], "a"), None);
        assert_eq!(chosen(&[past("a", 1, Some(10)), past("b", 2, None)], "a"), None);
    }

    #[test]
    fn the_patch_brings_the_stored_spec_back_and_keeps_what_is_no_part_of_a_revision() {
        let mut pipeline = json!({
            "metadata": {"uid": "u"},
            "spec": {"image_name": "i:2", "log_level": "DEBUG", "emergency_patch": {"a": 1}, "replicas": 7,
                "with_canary": true, "rollout": {"paused": true}, "suspend": false, "revisionHistoryLimit": 3}});
        let stored = json!({"image_name": "i:1", "log_level": "INFO", "replicas": 1, "rollout": {"paused": false}});
        let patch: json_patch::Patch = serde_json::from_value(patch(&stored, "u")).expect("a patch");
        json_patch::patch(&mut pipeline, &patch).expect("it applies");
        assert_eq!(
            pipeline["spec"],
            json!({"image_name": "i:1", "log_level": "INFO", "replicas": 7, "with_canary": true,
                "rollout": {"paused": true}, "suspend": false, "revisionHistoryLimit": 3})
        );
    }

    #[test]
    fn the_patch_of_another_object_of_the_name_does_not_apply() {
        let mut pipeline = json!({"metadata": {"uid": "another"}, "spec": {}});
        let patch: json_patch::Patch = serde_json::from_value(patch(&json!({}), "u")).expect("a patch");
        assert!(json_patch::patch(&mut pipeline, &patch).is_err());
    }
}
