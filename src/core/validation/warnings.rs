//! What is admitted and should still be said.
//!
//! Must never say more than a person reads: at most [`super::WARNINGS_MAX`] lines of under 120 characters.

use serde_json::Value;

use super::source::source;
use super::{Old, Subject, UNKNOWN_FIELD, WARNINGS_MAX, pod};
use crate::api::PodReplacementPolicy;
use crate::api::streaming_pipeline::OpenObject;
use crate::core::compose::WITHOUT_EFFECT;
use crate::core::path::FieldPath;
use crate::core::violation::{Violation, Warning};

/// Longest line of a warning, its path included, in characters.
const LINE_LENGTH_MAX: usize = 119;

/// A fault that the stored object has already.
pub(super) fn of_old_fault(fault: Violation) -> Warning {
    Warning {
        rule: fault.rule,
        path: fault.path,
        message: format!("(fault of the stored object) {}", fault.message),
    }
}

/// Every warning of what `subject` is.
pub(super) fn of(subject: &Subject<'_>) -> Vec<Warning> {
    let mut all = Vec::new();
    if let Some(old) = subject.old {
        of_edit(subject, old, &mut all);
    }
    of_spec(subject, &mut all);
    of_grace_period(subject, &mut all);
    for path in without_effect(subject) {
        all.push(warning(
            "no-effect",
            &path,
            "has no effect: the operator manages Pods, not a Deployment",
        ));
    }
    for path in misplaced(subject) {
        let message = "is no field of a Deployment: it reaches no Pod";
        all.push(warning(UNKNOWN_FIELD, &path, message));
    }
    for (path, message) in of_metadata(subject) {
        all.push(warning("no-effect", &path, message));
    }
    for path in pod::unknown_fields(subject) {
        let message = "is unknown to this release: passed on";
        all.push(warning(UNKNOWN_FIELD, &path, message));
    }
    all
}

pub(in crate::core) fn warning(rule: &'static str, path: &FieldPath, message: impl Into<String>) -> Warning {
    Warning {
        rule,
        path: path.to_string(),
        message: message.into(),
    }
}

fn of_edit(subject: &Subject<'_>, stored: &Old<'_>, all: &mut Vec<Warning>) {
    let (spec, old) = (&*subject.spec, &stored.spec);
    if old.replicas > 0 && spec.replicas == 0 {
        let message = format!("goes from {} to 0: every consumer stops", old.replicas);
        all.push(warning("scale-to-zero", &FieldPath::spec("replicas"), message));
    }
    if spec.suspend && !old.suspend {
        let message = "every consumer stops until it is false again";
        all.push(warning("suspend", &FieldPath::spec("suspend"), message));
    }
    if old.image_name != spec.image_name && stored.pipeline_config() != Some(&spec.pipeline_config) {
        let message = "changes together with pipeline_config: if it goes wrong, either may be the cause";
        all.push(warning("image-and-config", &FieldPath::spec("image_name"), message));
    }
}

fn of_spec(subject: &Subject<'_>, all: &mut Vec<Warning>) {
    let spec = &*subject.spec;
    let config = spec.pipeline_config.get("pipeline");
    let writes_health = config.and_then(|config| config.pointer("/adapter_config/arroyo/write_healthcheck"));
    let is_read = subject.reading.has("pipeline_config");
    if spec.enable_liveness_probe && is_read && writes_health != Some(&Value::Bool(true)) {
        let arroyo = ["pipeline", "adapter_config", "arroyo", "write_healthcheck"];
        let path = FieldPath::spec("pipeline_config");
        let path = arroyo.iter().fold(path, |path, key| path.key(key));
        let message = "not true: liveness kills it every 310 s";
        all.push(warning("liveness-without-health", &path, message));
    }
    if spec.with_canary && spec.replicas < 2 {
        let message = "has no effect with fewer than 2 replicas";
        all.push(warning(
            "canary-without-replicas",
            &FieldPath::spec("with_canary"),
            message,
        ));
    }
    if !is_pinned(&spec.image_name) {
        let message = "has no tag, or latest: which version runs depends on when a node pulled it";
        all.push(warning("image-tag", &FieldPath::spec("image_name"), message));
    }
    if spec.emergency_patch.as_ref().is_some_and(|patch| !patch.is_empty()) {
        let message = "is in force: it overrides what is rendered until it is removed";
        all.push(warning("emergency-patch", &FieldPath::spec("emergency_patch"), message));
    }
    if spec.replicas == 1 && spec.rollout.pod_replacement_policy == PodReplacementPolicy::Failed {
        let path = FieldPath::spec("rollout").key("podReplacementPolicy");
        let message = "with 1 replica, no consumer runs until the new Pod is available";
        all.push(warning("single-replica-failed", &path, message));
    }
}

/// Whether an image has a digest, or a tag other than `latest`.
fn is_pinned(image: &str) -> bool {
    if image.contains('@') {
        return true;
    }
    // A colon before the last slash is that of a registry's port.
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    name.split_once(':')
        .is_some_and(|(_, tag)| !tag.is_empty() && tag != "latest")
}

fn of_grace_period(subject: &Subject<'_>, all: &mut Vec<Warning>) {
    const SECONDS_MIN: i64 = 30;
    const SECONDS_MAX_WHEN_AWAITED: i64 = 300;
    let spec = subject.composition.primary.get("spec");
    let seconds = spec
        .and_then(|spec| spec.get("terminationGracePeriodSeconds"))
        .and_then(Value::as_i64);
    let Some(seconds) = seconds else { return };
    let steps = ["spec", "terminationGracePeriodSeconds"].map(|key| crate::core::path::Step::Key(key.to_owned()));
    let path = || source(subject, &steps);
    if seconds < SECONDS_MIN {
        let message = format!("is {seconds}: under {SECONDS_MIN} a consumer may not commit");
        all.push(warning("grace-period", &path(), message));
    }
    let awaits = subject.spec.rollout.pod_replacement_policy == PodReplacementPolicy::Failed;
    if awaits && seconds > SECONDS_MAX_WHEN_AWAITED {
        let message = format!("is {seconds}: a Pod's place stays empty that long");
        all.push(warning("grace-period", &path(), message));
    }
}

/// What is merged as parts of a Deployment, by the field of the spec.
fn deployments<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = (&'static str, &'s OpenObject)> {
    let patch = subject.spec.emergency_patch.as_ref();
    [("deployment_template", &subject.spec.deployment_template)]
        .into_iter()
        .chain(patch.map(|patch| ("emergency_patch", patch)))
}

/// Fields around the Pod template that a Deployment does not have: what is misspelt or stands a level too high would be
/// lost without a word.
fn misplaced(subject: &Subject<'_>) -> Vec<FieldPath> {
    const KNOWN: [(&[&str], &[&str]); 3] = [
        (&[], &["apiVersion", "kind", "metadata", "spec", "status"]),
        (
            &["spec"],
            &[
                "replicas",
                "selector",
                "template",
                "strategy",
                "minReadySeconds",
                "revisionHistoryLimit",
                "paused",
                "progressDeadlineSeconds",
            ],
        ),
        (&["spec", "template"], &["metadata", "spec"]),
    ];
    let mut paths = Vec::new();
    for (field, template) in deployments(subject) {
        for (place, known) in KNOWN {
            paths.extend(others(field, template, place, known));
        }
    }
    paths
}

/// Fields of the metadata of the Deployment and of the Pod template that no Pod gets, and why.
fn of_metadata(subject: &Subject<'_>) -> Vec<(FieldPath, &'static str)> {
    const DEPLOYMENT: &str = "reaches no Pod: no Deployment is made";
    const POD: &str = "reaches no Pod; labels and annotations do";
    let mut found = Vec::new();
    for (field, template) in deployments(subject) {
        // Name, namespace and labels have rules or warnings of their own. An annotation of the patch is a note of why it
        // is there.
        let mut known = vec!["name", "namespace", "labels"];
        if field == "emergency_patch" {
            known.push("annotations");
        }
        let metadata = others(field, template, &["metadata"], &known);
        found.extend(metadata.into_iter().map(|path| (path, DEPLOYMENT)));
        let place = ["spec", "template", "metadata"];
        let metadata = others(field, template, &place, &["labels", "annotations"]);
        found.extend(metadata.into_iter().map(|path| (path, POD)));
    }
    found
}

/// Paths of the fields that a template, which is the field `field` of the spec, has at `place` besides the known ones. A
/// null is none: tools that print a Deployment write `creationTimestamp: null`.
fn others(field: &str, template: &OpenObject, place: &[&str], known: &[&str]) -> Vec<FieldPath> {
    let found = place
        .iter()
        .try_fold(template, |object, key| object.get(*key).and_then(Value::as_object));
    let fields = found.into_iter().flatten();
    let others = fields.filter(|(key, value)| !value.is_null() && !known.contains(&key.as_str()));
    let place = place.iter().fold(FieldPath::spec(field), |path, key| path.key(key));
    others.map(|(key, _)| place.clone().key(key)).collect()
}

fn without_effect(subject: &Subject<'_>) -> Vec<FieldPath> {
    let mut paths = Vec::new();
    for (field, template) in deployments(subject) {
        for ineffective in WITHOUT_EFFECT {
            let Some((first, rest)) = ineffective.split_first() else {
                continue;
            };
            let found = template.get(*first);
            if found
                .and_then(|value| rest.iter().try_fold(value, |value, key| value.get(key)))
                .is_some()
            {
                let path = FieldPath::spec(field);
                paths.push(ineffective.iter().fold(path, |path, key| path.key(key)));
            }
        }
    }
    paths
}

/// Cuts every warning to its line, and the list to its length; the last one then says how many there are besides.
pub(in crate::core) fn limit(warnings: &mut Vec<Warning>) {
    for warning in warnings.iter_mut() {
        shorten(warning);
    }
    if warnings.len() > WARNINGS_MAX {
        let kept = WARNINGS_MAX - 1;
        let more = warnings.len() - kept;
        warnings.truncate(kept);
        warnings.push(Warning {
            rule: "more-warnings",
            path: "spec".to_owned(),
            message: format!("and {more} more warnings"),
        });
    }
}

/// Cuts path and message to the line.
pub(super) fn shorten(warning: &mut Warning) {
    /// Leaves the message a third of the line.
    const PATH_LENGTH_MAX: usize = 79;
    if is_short_line(&warning.path, PATH_LENGTH_MAX) {
        let room = LINE_LENGTH_MAX - ": ".len() - warning.path.len();
        if is_short_line(&warning.message, room) {
            return;
        }
    }
    // The API server drops a line that it has had already, so those of two fields must differ: both ends stay.
    warning.path = cut_within(&one_line(&warning.path, usize::MAX), PATH_LENGTH_MAX);
    let room = LINE_LENGTH_MAX - ": ".len() - width(&warning.path).min(PATH_LENGTH_MAX);
    warning.message = one_line(&warning.message, room);
}

/// Whether a text is one line of no more than so many characters, as most are.
fn is_short_line(text: &str, length_max: usize) -> bool {
    text.len() <= length_max && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn cut_within(text: &str, length_max: usize) -> String {
    let length = width(text);
    if length <= length_max {
        return text.to_owned();
    }
    let head = length_max / 2;
    let tail = length_max.saturating_sub(head + 1);
    let end = text.chars().skip(length - tail);
    text.chars().take(head).chain(['…']).chain(end).collect()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn one_line(text: &str, length_max: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if width(&line) <= length_max {
        return line;
    }
    line.chars().take(length_max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
