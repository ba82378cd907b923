//! What makes a StreamingPipeline invalid, and what is worth a warning. Webhook, controller and command line all ask
//! here.
//!
//! Must never stop at the first fault, and never refuse an update for a fault that the stored object has already.
//!
//! A new rule: one function in the file of its family, an entry in [`RULES`], and manifests that it refuses and accepts
//! in `tests/fixtures/rules`.

mod fields;
mod metadata;
mod pipeline_config;
mod pod;
mod quantities;
mod reading;
mod rendered;
mod rules;
mod segments;
mod sizes;
mod source;
mod templates;
mod unknown_fields;
mod warning_rules;
mod warnings;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use crate::api::StreamingPipelineSpec;
use crate::api::streaming_pipeline::OpenObject;

pub use self::metadata::{METADATA, metadata};
use self::reading::Reading;
pub use self::rules::{RULES, Rule};
pub use self::unknown_fields::{UNKNOWN_FIELD, unknown_fields};
pub use self::warning_rules::{WARNING_RULES, WarningRule};
pub(super) use self::warnings::{limit, warning};
use super::compose::{Composition, compose};
use super::defaults::apply_defaults;
use super::multi_process::MultiProcess;
use super::path::FieldPath;
use super::violation::{About, Finding, Violation, Warning};

/// Most warnings of one answer; the API server passes on no more than some kilobytes of them.
pub const WARNINGS_MAX: usize = 10;

/// The answer to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Every fault that refuses it; empty: admitted.
    pub violations: Vec<Violation>,
    /// What is admitted and should still be said, at most [`WARNINGS_MAX`], each under 120 characters on one line.
    pub warnings: Vec<Warning>,
}

/// An object as far as it could be read.
struct Read {
    /// The spec, with stand-ins where it could not be read.
    spec: StreamingPipelineSpec,
    /// Name of the pipeline: the field.
    pipeline_name: String,
    /// What could not be read.
    reading: Reading,
}

impl Read {
    /// A raw object; defaults that are absent count as written.
    fn of(object: &Value) -> Self {
        let (spec, reading) = reading::read(object);
        let pipeline_name = spec.pipeline_name.clone().unwrap_or_default();
        Self {
            spec,
            pipeline_name,
            reading,
        }
    }
}

/// The stored object that an update would replace, as far as it is compared with the new one. It is neither copied nor
/// composed: few updates have a fault that may be old.
struct Old<'a> {
    /// The object as it is stored.
    object: &'a Value,
    /// Its spec, with its open objects empty, and with stand-ins where it could not be read.
    spec: StreamingPipelineSpec,
    /// Name of its pipeline: the field, or the object's name.
    pipeline_name: String,
    /// What could not be read.
    reading: Reading,
}

impl<'a> Old<'a> {
    fn of(object: &'a Value) -> Self {
        let (spec, reading) = reading::read_typed_fields(object);
        let pipeline_name = spec.pipeline_name.clone().unwrap_or_default();
        Self {
            object,
            spec,
            pipeline_name,
            reading,
        }
    }

    /// The config, if it is an object.
    fn pipeline_config(&self) -> Option<&'a OpenObject> {
        self.object.get("spec")?.get("pipeline_config")?.as_object()
    }
}

/// What the rules judge.
pub(super) struct Subject<'a> {
    /// The spec, with stand-ins where it could not be read.
    pub(super) spec: Cow<'a, StreamingPipelineSpec>,
    /// Name of the pipeline: the field, or the object's name.
    pub(super) pipeline_name: String,
    /// What could not be read.
    reading: Reading,
    /// The stored object that an update would replace.
    old: Option<&'a Old<'a>>,
    /// The processes of the config.
    pub(super) processes: MultiProcess,
    /// What is made of it.
    pub(super) composition: Composition,
    /// A first look at the Pod that is made of it.
    pod: pod::FirstLook,
}

impl<'a> Subject<'a> {
    /// A spec that has been read, of the object named `object_name`.
    pub(super) fn of_spec(object_name: &str, spec: &'a StreamingPipelineSpec) -> Self {
        let pipeline_name = spec.pipeline_name.clone().unwrap_or_else(|| object_name.to_owned());
        Self::new(Cow::Borrowed(spec), pipeline_name, Reading::default(), None)
    }

    /// An object that would replace `old`.
    fn of(object: &'a Read, old: Option<&'a Old<'a>>) -> Self {
        let spec = Cow::Borrowed(&object.spec);
        Self::new(spec, object.pipeline_name.clone(), object.reading.clone(), old)
    }

    fn new(
        spec: Cow<'a, StreamingPipelineSpec>,
        pipeline_name: String,
        reading: Reading,
        old: Option<&'a Old<'a>>,
    ) -> Self {
        let processes = MultiProcess::of(&spec.pipeline_config);
        let composition = compose(&spec, &pipeline_name, &processes);
        let pod = pod::FirstLook::at(&composition.primary);
        Self {
            spec,
            pipeline_name,
            reading,
            old,
            processes,
            composition,
            pod,
        }
    }

    /// Every fault, with the name of its rule.
    pub(super) fn faults(&self) -> Vec<(&'static str, Finding)> {
        let found = RULES.iter().flat_map(|rule| {
            let findings = (rule.check)(self);
            findings.into_iter().map(|finding| (rule.name, finding))
        });
        found.collect()
    }

    /// Whether what is rendered for the canary set is at fault: its base name is too long, or the template sets the
    /// label `env`. That refuses the pipeline only when it asks for a canary.
    pub(super) fn canary_is_at_fault(&self) -> bool {
        !self.composition.canary_findings.is_empty() || rendered::name_fault(&self.composition.canary_base).is_some()
    }
}

/// Judges a raw StreamingPipeline (`metadata` and `spec`; defaults that are absent count as written). `old` is the
/// stored object that an update would replace: what is wrong with it too is a warning and no fault. A fault is old when
/// the same rule finds the same value at the same path of the old object; one of what is rendered, when its text is the
/// same.
#[must_use]
pub fn validate(new: &Value, old: Option<&Value>) -> Verdict {
    let (new_read, stored) = (Read::of(new), old.map(Old::of));
    let subject = Subject::of(&new_read, stored.as_ref());
    let faults = subject.faults();
    // An old object is judged only when that can make a difference.
    let old_faults = match old {
        Some(old) if !faults.is_empty() => Subject::of(&Read::of(old), None).faults(),
        _ => Vec::new(),
    };
    // With their defaults, which are values of theirs as well; a copy of each, made only when there is a fault to look for.
    let both = old
        .filter(|_| !old_faults.is_empty())
        .map(|old| (defaulted(new), defaulted(old)));
    let mut verdict = weigh(faults, &old_faults, both.as_ref().map(|(new, old)| (new, old)));
    verdict.warnings.extend(warnings::of(&subject));
    warnings::limit(&mut verdict.warnings);
    verdict
}

/// The answer to `faults`, each with the name of its rule, of an object that would replace one with `old_faults`; `both` are
/// the two with their defaults. What the old one has too is a warning.
pub(super) fn weigh(
    faults: Vec<(&'static str, Finding)>,
    old_faults: &[(&'static str, Finding)],
    both: Option<(&Value, &Value)>,
) -> Verdict {
    let known = KnownFaults::of(old_faults);
    let mut verdict = Verdict::default();
    for (rule, finding) in faults {
        let is_old = both.is_some_and(|(new, old)| known.have(rule, &finding, new, old));
        let violation = finding.under(rule);
        if is_old {
            verdict.warnings.push(warnings::of_old_fault(violation));
        } else {
            verdict.violations.push(violation);
        }
    }
    verdict
}

/// The faults of the stored object: an object can have as many as it has bytes, so each is looked up and not searched.
struct KnownFaults<'a> {
    places: HashSet<(&'static str, &'a FieldPath)>,
    texts: HashSet<(&'static str, &'a FieldPath, &'a str)>,
}

impl<'a> KnownFaults<'a> {
    fn of(faults: &'a [(&'static str, Finding)]) -> Self {
        Self {
            places: faults.iter().map(|(rule, fault)| (*rule, &fault.path)).collect(),
            texts: faults
                .iter()
                .map(|(rule, fault)| (*rule, &fault.path, fault.message.as_str()))
                .collect(),
        }
    }

    /// Whether the stored object `old` has the same fault as `new` has.
    fn have(&self, rule: &'static str, fault: &Finding, new: &Value, old: &Value) -> bool {
        match fault.about {
            About::Rendered => self.texts.contains(&(rule, &fault.path, fault.message.as_str())),
            About::Value => {
                self.places.contains(&(rule, &fault.path)) && fault.path.lookup(new) == fault.path.lookup(old)
            }
        }
    }
}

fn defaulted(object: &Value) -> Value {
    let mut object = object.clone();
    apply_defaults(&mut object);
    object
}
