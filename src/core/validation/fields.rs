//! Rules on single fields of `spec`. The CRD says them too, so that they hold while the webhook is away; the shared
//! validation says them again for files that no API server has seen.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Subject;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding};

/// Rule: texts are not empty and not longer than the CRD allows, in characters.
pub(super) fn lengths(subject: &Subject<'_>) -> Vec<Finding> {
    const TEXT_LENGTH_MAX: usize = 253;
    const CONTAINER_NAME_LENGTH_MAX: usize = 63;
    let spec = &*subject.spec;
    [
        ("service_name", spec.service_name.as_str(), TEXT_LENGTH_MAX),
        ("pipeline_name", subject.pipeline_name.as_str(), TEXT_LENGTH_MAX),
        ("pipeline_module", spec.pipeline_module.as_str(), TEXT_LENGTH_MAX),
        ("image_name", spec.image_name.as_str(), usize::MAX),
        (
            "container_name",
            spec.container_name.as_str(),
            CONTAINER_NAME_LENGTH_MAX,
        ),
    ]
    .into_iter()
    .filter_map(|(field, text, length_max)| {
        let length = text.chars().count();
        let path = || FieldPath::spec(field);
        if length == 0 && subject.reading.has(field) {
            Some(Finding::of_value(path(), FaultKind::Invalid, "must not be empty"))
        } else if length > length_max {
            let message = format!("has {length} characters, at most {length_max} are allowed");
            Some(Finding::of_value(path(), FaultKind::TooLong, message))
        } else {
            None
        }
    })
    .collect()
}

/// Rule: numbers are in their range.
pub(super) fn ranges(subject: &Subject<'_>) -> Vec<Finding> {
    let spec = &*subject.spec;
    let rollout = &spec.rollout;
    let history = i64::from(spec.revision_history_limit);
    let ready = i64::from(rollout.min_ready_seconds);
    let deadline = i64::from(rollout.progress_deadline_seconds);
    [
        (["cpu_per_process", ""], spec.cpu_per_process, 1, i64::MAX),
        (["memory_per_process", ""], spec.memory_per_process, 1, i64::MAX),
        (["replicas", ""], spec.replicas, 0, 999),
        (["segment_id", ""], spec.segment_id, 0, i64::MAX),
        (["revisionHistoryLimit", ""], history, 0, 100),
        (["rollout", "minReadySeconds"], ready, 0, 86_400),
        (["rollout", "progressDeadlineSeconds"], deadline, 1, 604_800),
    ]
    .into_iter()
    .filter(|(_, value, min, max)| !(min..=max).contains(&value))
    .map(|([field, inner], value, min, max)| {
        let path = FieldPath::spec(field);
        let path = if inner.is_empty() { path } else { path.key(inner) };
        let message = if max == i64::MAX {
            format!("is {value}, must be at least {min}")
        } else {
            format!("is {value}, must be from {min} to {max}")
        };
        Finding::of_value(path, FaultKind::Invalid, message)
    })
    .collect()
}

/// Rule: `maxUnavailable` is a number of at least 1 or 1% to 100%, and `restartAt` is a time.
pub(super) fn rollout(subject: &Subject<'_>) -> Vec<Finding> {
    let rollout = &subject.spec.rollout;
    let mut findings = Vec::new();
    let is_valid = match &rollout.max_unavailable {
        IntOrString::Int(number) => *number >= 1,
        IntOrString::String(text) => is_percentage(text),
    };
    if !is_valid {
        let path = FieldPath::spec("rollout").key("maxUnavailable");
        let message = "must be an integer of at least 1, or a percentage from 1% to 100%";
        findings.push(Finding::of_value(path, FaultKind::Invalid, message));
    }
    if let Some(time) = &rollout.restart_at
        && time.parse::<jiff::Timestamp>().is_err()
    {
        let path = FieldPath::spec("rollout").key("restartAt");
        let message = "must be a time as in RFC 3339, such as 2025-01-31T12:00:00Z";
        findings.push(Finding::of_value(path, FaultKind::Invalid, message));
    }
    findings
}

fn is_percentage(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(|digits| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        plain && digits.parse().is_ok_and(|percent: u8| (1..=100).contains(&percent))
    })
}

/// Rule: what names every Pod and ConfigMap stays as it is.
pub(super) fn immutable(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(old) = subject.old else {
        return Vec::new();
    };
    let changed = [
        ("service_name", old.spec.service_name != subject.spec.service_name),
        ("segment_id", old.spec.segment_id != subject.spec.segment_id),
        ("pipeline_name", old.pipeline_name != subject.pipeline_name),
    ];
    // A stand-in is no value that could have changed.
    let is_read = |field: &str| subject.reading.has(field) && old.reading.has(field);
    let changed = changed
        .into_iter()
        .filter(|(field, changed)| *changed && is_read(field));
    changed
        .map(|(field, _)| {
            let message = "is immutable: it names every Pod and ConfigMap; delete the pipeline and create another";
            Finding::of_value(FieldPath::spec(field), FaultKind::Forbidden, message)
        })
        .collect()
}
