//! Defaults, written into the raw object. Must never touch a field that is present or that we do not know.

use serde_json::Value;

/// Writes every default that is absent into a raw StreamingPipeline object (`metadata` and `spec`).
pub fn apply_defaults(object: &mut Value) {
    let _ = object;
}
