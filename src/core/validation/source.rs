//! Where in the spec a part of the rendered Pod comes from.
//!
//! Must never name an element that another one is at fault for: where none can be told, the field that holds them is.

use serde_json::Value;

use super::Subject;
use crate::api::streaming_pipeline::OpenObject;
use crate::core::merge::Placed;
use crate::core::path::{FieldPath, Step};

/// Where in the spec the part of the rendered Pod at `rendered` comes from. What is in no template and not in the
/// emergency patch is the operator's own, or of something else than the patch made of it.
pub(super) fn source(subject: &Subject<'_>, rendered: &[Step]) -> FieldPath {
    template_source(subject, rendered).unwrap_or_else(|| match &subject.spec.emergency_patch {
        Some(_) => FieldPath::spec("emergency_patch"),
        None => FieldPath::spec("deployment_template"),
    })
}

/// The field from which the part of the rendered Pod at `rendered` comes: of the emergency patch, if it sets a scalar
/// there, for it has the last word; else of the container template for the consumer, else of the deployment template (in
/// both, lists stand in front of what the operator adds), else of the emergency patch.
pub(super) fn template_source(subject: &Subject<'_>, rendered: &[Step]) -> Option<FieldPath> {
    let spec = &*subject.spec;
    let mut steps = vec![Step::Key("spec".to_owned()), Step::Key("template".to_owned())];
    steps.extend_from_slice(rendered);
    let patch = spec.emergency_patch.as_ref();
    let patched = patch.and_then(|patch| in_patch(&subject.composition.placed, patch, &steps));
    if let Some((path, value)) = &patched
        && !(value.is_object() || value.is_array())
        && within(&subject.composition.primary, rendered) == Some(*value)
    {
        return Some(path.clone());
    }
    if let [Step::Key(pod_spec), Step::Key(list), Step::Index(index), rest @ ..] = rendered
        && pod_spec == "spec"
        && list == "containers"
        && *index == subject.composition.consumer_index
        && within(&spec.container_template, rest).is_some()
    {
        return Some(FieldPath::spec("container_template").join(rest));
    }
    if within(&spec.deployment_template, &steps).is_some() {
        return Some(FieldPath::spec("deployment_template").join(&steps));
    }
    patched.map(|(path, _)| path)
}

/// What stands at a path of an object.
fn within<'v>(object: &'v OpenObject, steps: &[Step]) -> Option<&'v Value> {
    let Some((Step::Key(field), rest)) = steps.split_first() else {
        return None;
    };
    FieldPath::default().join(rest).lookup(object.get(field)?)
}

/// What of the emergency patch has come to stand at `steps`, and where in the patch that is.
fn in_patch<'v>(placed: &Placed, patch: &'v OpenObject, steps: &[Step]) -> Option<(FieldPath, &'v Value)> {
    let Some((Step::Key(field), rest)) = steps.split_first() else {
        return None;
    };
    let at = FieldPath::spec("emergency_patch").key(field);
    follow(placed, at, patch.get(field)?, rest)
}

/// Goes on from `value`, which stands at `path` of the patch. Of several elements that were merged into one the last that
/// has the rest counts.
fn follow<'v>(placed: &Placed, path: FieldPath, value: &'v Value, steps: &[Step]) -> Option<(FieldPath, &'v Value)> {
    /// Most elements with one key that are looked into; a patch can have as many as it has bytes.
    const TWINS_MAX: usize = 16;
    let Some((step, rest)) = steps.split_first() else {
        return Some((path, value));
    };
    let element = |index: usize| follow(placed, path.clone().index(index), value.get(index)?, rest);
    match step {
        Step::Key(key) => follow(placed, path.key(key), value.get(key)?, rest),
        Step::Index(index) => match placed.origins(&path, *index) {
            None => element(*index),
            Some(origins) => origins.rev().take(TWINS_MAX).find_map(element),
        },
    }
}

#[cfg(test)]
mod tests;
