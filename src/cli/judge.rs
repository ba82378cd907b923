//! The answer of the webhook to a document of a file, offline. Must never judge by itself: it asks the shared validation
//! and the index of names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::input::{self, Document, Input, Place};
use crate::api::StreamingPipelineSpec;
use crate::api::stored::{decode_spec, decode_typed_fields};
use crate::core::analysis::admission;
use crate::core::collision::{NameIndex, NameSet, PipelineId};
use crate::core::defaults::apply_defaults;
use crate::core::valid::ValidPipeline;
use crate::core::validation::{self, metadata, validate};
use crate::core::violation::{FaultKind, Violation, Warning};
use crate::webhook::judge::name_collision;

/// Name of the fault of a key that occurs twice.
pub(super) const DUPLICATE_KEYS: &str = "duplicate-keys";
/// What it says.
pub(super) const DUPLICATE_KEY: &str = "occurs twice in one object; kubectl would silently take the last";
/// Name of the fault of a pipeline that stands in the files twice.
pub(super) const DUPLICATE_PIPELINES: &str = "duplicate-pipelines";
/// Name of the fault of an analysis that does.
pub(super) const DUPLICATE_ANALYSES: &str = "duplicate-analyses";

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
    // What the API server itself would say first.
    let violations: Vec<Violation> = metadata(&document.object)
        .into_iter()
        .chain(duplicate_keys(document))
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
        warnings: verdict
            .warnings
            .into_iter()
            .chain(validation::unknown_fields(&document.object))
            .collect(),
    }
}

/// Judges the document of an analysis, as one that replaces the object `old`, if there is one: the faults for which it is
/// refused, and the warnings.
pub(super) fn judge_analysis(document: &Document, old: Option<&Value>) -> (Vec<Fault>, Vec<Warning>) {
    // Which metrics sources an operator has is not in the files.
    let verdict = admission::validate(&document.object, old, None);
    let faults = metadata(&document.object)
        .into_iter()
        .chain(duplicate_keys(document))
        .chain(verdict.violations);
    let warnings = verdict.warnings.into_iter();
    let warnings = warnings.chain(validation::unknown_fields(&document.object));
    (faults.map(Fault::from).collect(), warnings.collect())
}

fn duplicate_keys(document: &Document) -> impl Iterator<Item = Violation> {
    document.duplicate_keys.iter().map(|path| Violation {
        rule: DUPLICATE_KEYS,
        path: path.clone(),
        kind: FaultKind::Duplicate,
        message: DUPLICATE_KEY.to_owned(),
    })
}

/// For each pipeline its fault when it stands in the files already: kubectl would apply both.
pub(super) fn repeated(input: &Input) -> Vec<Option<Fault>> {
    let twice = Twice {
        rule: DUPLICATE_PIPELINES,
        what: "pipeline",
    };
    repetitions(&input.documents, &twice)
}

/// The same of each analysis.
pub(super) fn repeated_analyses(input: &Input) -> Vec<Option<Fault>> {
    let twice = Twice {
        rule: DUPLICATE_ANALYSES,
        what: "analysis",
    };
    repetitions(&input.analyses, &twice)
}

/// The fault of what stands in the files twice.
struct Twice {
    rule: &'static str,
    what: &'static str,
}

fn repetitions(documents: &[Document], twice: &Twice) -> Vec<Option<Fault>> {
    let fault = |first: &Place| Fault {
        field: "metadata.name".to_owned(),
        rule: twice.rule,
        reason: FaultKind::Duplicate.as_str().into(),
        message: stands_already(twice.what, &first.file, &first.line.to_string()),
    };
    let repeated = input::repeated(documents).into_iter();
    repeated.map(|first| first.map(fault)).collect()
}

/// What is said of a pipeline or an analysis that stands in the files already.
pub(super) fn stands_already(what: &str, file: &str, line: &str) -> String {
    format!("the same {what} stands at {file}:{line} already; kubectl would apply both, and the last one would stay")
}

/// What is odd in files that are rendered or planned all the same, line by line: pipelines that stand there twice, and
/// fields that nobody knows.
pub(super) fn notes(input: &Input) -> String {
    let mut text = String::new();
    for (document, again) in input.documents.iter().zip(repeated(input)) {
        if let Some(fault) = again {
            put_note(&mut text, document, &fault.field, &fault.message);
        }
    }
    text + &unknown_fields(input)
}

/// The fields that nobody knows, line by line.
pub(super) fn unknown_fields(input: &Input) -> String {
    let mut text = String::new();
    for document in &input.documents {
        for Warning { path, message, .. } in validation::unknown_fields(&document.object) {
            put_note(&mut text, document, &path, &message);
        }
    }
    text
}

fn put_note(text: &mut String, document: &Document, path: &str, message: &str) {
    let (file, line) = (&document.place.file, document.line_of(path));
    let (namespace, name) = (document.namespace(), document.name());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{file}:{line}: {namespace}/{name}: warning: {path}: {message}");
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
    /// Those that pipelines have already.
    held: HashMap<PipelineId, NameSet>,
}

impl Names {
    /// The pipeline of a document exists, as the object `stored`, and has its names before any other of the run.
    pub(super) fn hold(&mut self, document: &Document, stored: &Value, workload_namespace: Option<&str>) {
        let Some(spec) = stored.get("spec").and_then(decode_typed_fields) else {
            return;
        };
        let (id, names) = names_of(document, &spec, workload_namespace);
        self.index.insert(id.clone(), names.clone());
        self.held.insert(id, names);
    }

    /// The fault of a pipeline whose names an earlier one of the run has; else it has them from now on.
    pub(super) fn claim(
        &mut self,
        document: &Document,
        pipeline: &ValidPipeline,
        workload_namespace: Option<&str>,
    ) -> Option<Fault> {
        let (id, names) = names_of(document, pipeline.spec(), workload_namespace);
        if self.held.get(&id) == Some(&names) {
            // An edit that leaves the names as they are asks for none, as in the webhook.
            return None;
        }
        // No time passes within a run.
        let reserved = self.index.reserve(&id, &names, Timestamp::UNIX_EPOCH, Duration::MAX);
        reserved.err().map(|collision| name_collision(&collision).into())
    }
}

fn names_of(
    document: &Document,
    spec: &StreamingPipelineSpec,
    workload_namespace: Option<&str>,
) -> (PipelineId, NameSet) {
    let id = PipelineId {
        namespace: document.namespace().to_owned(),
        name: document.name().to_owned(),
    };
    let names = NameSet::of(workload_namespace.unwrap_or(&id.namespace), &id.name, spec);
    (id, names)
}
