//! Defaults as a JSON patch: the difference of the raw object before and after.
//!
//! Must never go through our types: a field that they do not know would be removed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::core::defaults::apply_defaults;

/// The patch that writes all absent defaults into `object`, as base64 of its JSON; `None` when nothing is absent.
///
/// Fails never in practice: a patch is made of JSON values.
pub fn of_defaults(object: &Value) -> Result<Option<String>, serde_json::Error> {
    let mut defaulted = object.clone();
    apply_defaults(&mut defaulted);
    let patch = json_patch::diff(object, &defaulted);
    if patch.is_empty() {
        return Ok(None);
    }
    Ok(Some(STANDARD.encode(serde_json::to_vec(&patch)?)))
}
