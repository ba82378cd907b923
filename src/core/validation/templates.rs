//! Rules on the templates and the emergency patch, before they are merged and as they are.

use super::Subject;
use crate::core::multi_process::is_truthy;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding};

/// Rule: one liveness probe.
pub(super) fn liveness_probe(subject: &Subject<'_>) -> Vec<Finding> {
    let probe = subject.spec.container_template.get("livenessProbe");
    if !subject.spec.enable_liveness_probe || !probe.is_some_and(is_truthy) {
        return Vec::new();
    }
    vec![Finding::of_value(
        FieldPath::spec("container_template").key("livenessProbe"),
        FaultKind::Forbidden,
        "must not be set while enable_liveness_probe is true, which sets it: leave it out, or turn that off",
    )]
}

/// Rule: the templates and the emergency patch go together with what the operator sets. What concerns only the canary
/// set counts only when there is to be one.
pub(super) fn merges(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = subject.composition.findings.clone();
    if subject.spec.with_canary {
        findings.extend(subject.composition.canary_findings.iter().cloned());
    }
    findings
}

/// Rule: the emergency patch renames nothing.
pub(super) fn emergency_patch_name(subject: &Subject<'_>) -> Vec<Finding> {
    let patch = subject.spec.emergency_patch.as_ref();
    let metadata = patch.and_then(|patch| patch.get("metadata"));
    if metadata.and_then(|metadata| metadata.get("name")).is_none() {
        return Vec::new();
    }
    vec![Finding::of_value(
        FieldPath::spec("emergency_patch").key("metadata").key("name"),
        FaultKind::Forbidden,
        "must not be set: it would give the Pods of both sets one name",
    )]
}
