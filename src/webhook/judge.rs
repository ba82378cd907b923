//! From a request to its answer. No I/O: the clock is an argument, the index of names is asked.
//!
//! Must never refuse what only ends an object: deletions, and edits of an object that is being deleted, always pass.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::names::{Claim, Names};
use super::patch;
use super::review::{Answer, Kind, Operation, Request};
use crate::core::analysis::admission;
use crate::core::collision::{Collision, PipelineId};
use crate::core::validation::{Verdict, WARNINGS_MAX, validate as validate_object};
use crate::core::violation::{FaultKind, Violation, Warning};

/// Name of the fault of a pipeline whose names another one has.
pub const NAME_COLLISION: &str = "NameCollision";

/// Admits the request with a patch of the defaults that are absent. Faults are for [`validate`] to find.
#[must_use]
pub fn mutate(request: &Request) -> Answer {
    if passes_unseen(request) {
        return Answer::default();
    }
    let patch = match request.kind {
        Kind::StreamingPipeline => patch::of_defaults(&request.object),
        Kind::RolloutAnalysis => patch::of_analysis_defaults(&request.object),
    };
    match patch {
        Ok(patch) => Answer {
            patch,
            ..Answer::default()
        },
        Err(error) => Answer::unavailable(&format!("the patch of the defaults cannot be written as JSON: {error}")),
    }
}

/// Judges an analysis with every fault at once. `sources` are the names of the operator's metrics sources.
#[must_use]
pub fn validate_analysis(request: &Request, sources: &BTreeSet<String>) -> Answer {
    if passes_unseen(request) {
        return Answer::default();
    }
    let verdict = admission::validate(&request.object, request.old_object.as_ref(), Some(sources));
    answer(request, &verdict.violations, texts(&verdict.warnings))
}

/// Judges a pipeline with every fault at once, and reserves its names at `now` when it is admitted to be stored.
#[must_use]
pub fn validate(request: &Request, names: &Names, now: Timestamp) -> Answer {
    if passes_unseen(request) {
        return Answer::default();
    }
    let Verdict {
        mut violations,
        warnings,
    } = validate_object(&as_sent(request), request.old_object.as_ref());
    let warnings = texts(&warnings);
    match claim(request, names, now, violations.is_empty()) {
        Claim::Free => {}
        Claim::Taken(collision) => violations.push(name_collision(&collision)),
        Claim::NotSynced => {
            return Answer::unavailable(
                "the names of existing pipelines are not all known yet (the operator has just started, or cannot read \
                 streamingpipelines); try again in a few seconds",
            );
        }
    }
    answer(request, &violations, warnings)
}

fn texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().take(WARNINGS_MAX).map(ToString::to_string).collect()
}

fn answer(request: &Request, violations: &[Violation], warnings: Vec<String>) -> Answer {
    if violations.is_empty() {
        return Answer {
            warnings,
            ..Answer::default()
        };
    }
    Answer::invalid(request.kind, request.display_name(), violations, warnings)
}

/// Whether the request is none to judge: our configurations ask about CREATE and UPDATE of whole objects only, and what
/// is being deleted must be able to lose its finalizers whatever else is wrong with it.
pub(super) fn passes_unseen(request: &Request) -> bool {
    request.operation == Operation::Other || !request.sub_resource.is_empty() || request.is_being_deleted()
}

/// The object as its author knows it: the API server makes a name of `generateName` before it validates, but after
/// `/mutate`, so that such a pipeline would have no `pipeline_name` and its Pods a name that nobody chose.
fn as_sent(request: &Request) -> Cow<'_, Value> {
    let (metadata, spec) = (request.object.get("metadata"), request.object.get("spec"));
    let has_pipeline_name = spec.and_then(|spec| spec.get("pipeline_name")).is_some();
    let is_generated = metadata.and_then(|metadata| metadata.get("generateName")).is_some();
    let mut object = Cow::Borrowed(&request.object);
    if request.operation == Operation::Create
        && is_generated
        && !has_pipeline_name
        && let Some(metadata) = object.to_mut().get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("name");
    }
    object
}

/// Asks for the names of the object. A reservation is made only for an object without other faults that will really be
/// stored and whose own name is known (else two of one `generateName` would pass for the same pipeline). An update whose
/// names stay as they are asks for nothing.
fn claim(request: &Request, names: &Names, now: Timestamp, otherwise_valid: bool) -> Claim {
    if !names.is_synced() {
        return Claim::NotSynced;
    }
    let pipeline = PipelineId {
        namespace: request.namespace.clone(),
        name: request.name.clone(),
    };
    let Some(spec) = request.spec() else {
        // Then validation has refused it already.
        return Claim::Free;
    };
    let wanted = names.of(&pipeline, &spec);
    let had = request.old_spec();
    if had.is_some_and(|spec| names.of(&pipeline, &spec) == wanted) {
        return Claim::Free;
    }
    if otherwise_valid && !request.dry_run && !request.name.is_empty() {
        names.reserve(&pipeline, &wanted, now)
    } else {
        names.check(&pipeline, &wanted, now)
    }
}

/// The fault of a pipeline that can take a name which another one has.
#[must_use]
pub fn name_collision(collision: &Collision) -> Violation {
    let Collision {
        holder,
        name,
        namespace,
    } = collision;
    Violation {
        rule: NAME_COLLISION,
        path: "spec.pipeline_name".to_owned(),
        kind: FaultKind::Duplicate,
        message: format!(
            "{NAME_COLLISION}: StreamingPipeline {}/{} can have Pods or ConfigMaps named {name} in namespace {namespace} \
             as well; choose another pipeline_name, service_name or segment_id",
            holder.namespace, holder.name
        ),
    }
}

#[cfg(test)]
mod tests;
