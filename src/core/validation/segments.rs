//! Rules on how `pipeline_config` and the rest of the spec go together.

use serde_json::Value;

use super::Subject;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding};

/// Rule: the segment that the Pods run is in the config. A config whose list of segments is empty says nothing of
/// segments, and is not judged.
pub(super) fn segment_id(subject: &Subject<'_>) -> Vec<Finding> {
    let segments = subject
        .spec
        .pipeline_config
        .get("pipeline")
        .and_then(|p| p.get("segments"));
    let count = segments.and_then(Value::as_array).map_or(0, Vec::len);
    let id = subject.spec.segment_id;
    // A negative one is out of range, which is another rule.
    let is_beyond = usize::try_from(id).is_ok_and(|id| id >= count);
    if count == 0 || !is_beyond {
        return Vec::new();
    }
    let message = format!(
        "is {id}, and pipeline_config has segments 0 to {}: the consumer would end at its start",
        count - 1
    );
    // The fault is old when the stored config lacks that segment too, however many it has. An edit that takes the segment
    // out of the config brings it in: the stored object has no fault there.
    vec![Finding::of_value(
        FieldPath::spec("segment_id"),
        FaultKind::Invalid,
        message,
    )]
}

/// Rule: processes are numbers, and one segment at most has them.
pub(super) fn multi_process(subject: &Subject<'_>) -> Vec<Finding> {
    subject.processes.findings.clone()
}
