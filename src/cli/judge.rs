//! The answer of the webhook to a document of a file, offline. Must never judge by itself: it asks the shared validation
//! and the index of names.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::input::Document;
use crate::api::stored::decode_spec;
use crate::core::collision::{NameIndex, NameSet, PipelineId};
use crate::core::defaults::apply_defaults;
use crate::core::valid::ValidPipeline;
use crate::core::validation::{metadata, validate};
use crate::core::violation::{FaultKind, Violation, Warning};
use crate::webhook::judge::NAME_COLLISION;

/// A fault as it is printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    /// Its path; empty for a fault of the whole document.
    pub(super) field: String,
    /// The rule that found it.
    pub(super) rule: &'static str,
    /// `FieldValueInvalid` and the like.
    pub(super) reason: Cow<'static, str>,
    /// What is wrong.
    pub(super) message: String,
}

impl Fault {
    /// Path and message, as both are told in one line.
    pub(super) fn in_words(&self) -> String {
        let Self { field, message, .. } = self;
        if field.is_empty() {
            message.clone()
        } else {
            format!("{field}: {message}")
        }
    }
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Self {
        Self {
            field: violation.path,
            rule: violation.rule,
            reason: violation.kind.as_str().into(),
            message: violation.message,
        }
    }
}

/// The answer to a document.
pub(super) struct Answer {
    /// The pipeline, or every fault of it.
    pub(super) pipeline: Result<Box<ValidPipeline>, Vec<Fault>>,
    /// The faults for which it is refused: those that the object which it replaces does not have already.
    pub(super) brought_in: Vec<Fault>,
    /// What is admitted and should still be said.
    pub(super) warnings: Vec<Warning>,
}

/// Judges a document by itself.
pub(super) fn judge(document: &Document) -> Answer {
    judge_against(document, None)
}

/// Judges a document as one that replaces `old`: what may not be changed is a fault too.
pub(super) fn judge_edit(document: &Document, old: &Document) -> Answer {
    judge_against(document, Some(&old.object))
}

/// Judges a document as one that replaces the object `old`, if there is one: what may not be changed is a fault too, and
/// what was wrong before is a warning only.
pub(super) fn judge_against(document: &Document, old: Option<&Value>) -> Answer {
    let verdict = validate(&document.object, old);
    let duplicate_keys = document.duplicate_keys.iter().map(|path| Violation {
        rule: "duplicate-keys",
        path: path.clone(),
        kind: FaultKind::Duplicate,
        message: "occurs twice in one object; kubectl would silently take the last".to_owned(),
    });
    // What the API server itself would say first.
    let violations: Vec<Violation> = metadata(&document.object)
        .into_iter()
        .chain(duplicate_keys)
        .chain(verdict.violations)
        .collect();
    let brought_in = violations.iter().cloned().map(Fault::from).collect();
    let pipeline = if violations.is_empty() {
        parse(document)
    } else {
        Err(violations)
    };
    Answer {
        pipeline: pipeline
            .map(Box::new)
            .map_err(|violations| violations.into_iter().map(Fault::from).collect()),
        brought_in,
        warnings: verdict.warnings,
    }
}

fn parse(document: &Document) -> Result<ValidPipeline, Vec<Violation>> {
    let mut object = document.object.clone();
    apply_defaults(&mut object);
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let spec = decode_spec(spec).map_err(|fault| {
        vec![Violation {
            rule: "field-types",
            path: fault.path,
            kind: FaultKind::TypeInvalid,
            message: fault.message,
        }]
    })?;
    ValidPipeline::take(document.name(), spec)
}

/// The pipelines of a run, which must not take each other's names.
#[derive(Default)]
pub(super) struct Names {
    index: NameIndex,
}

impl Names {
    /// The fault of a pipeline whose names an earlier one of the run has; else it has them from now on.
    pub(super) fn claim(
        &mut self,
        document: &Document,
        pipeline: &ValidPipeline,
        workload_namespace: Option<&str>,
    ) -> Option<Fault> {
        let id = PipelineId {
            namespace: document.namespace().to_owned(),
            name: document.name().to_owned(),
        };
        let namespace = workload_namespace.unwrap_or(&id.namespace);
        let names = NameSet::of(namespace, &id.name, pipeline.spec());
        // No time passes within a run.
        let Err(collision) = self.index.reserve(&id, &names, Timestamp::UNIX_EPOCH, Duration::MAX) else {
            return None;
        };
        Some(Fault {
            field: "spec.pipeline_name".to_owned(),
            rule: NAME_COLLISION,
            reason: FaultKind::Duplicate.as_str().into(),
            message: format!(
                "the name {} in namespace {} is taken by the StreamingPipeline {}/{}",
                collision.name, collision.namespace, collision.holder.namespace, collision.holder.name
            ),
        })
    }
}
