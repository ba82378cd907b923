//! Rules on sizes: what is larger does not fit into etcd beside its status and its history.

use std::io;

use super::Subject;
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding};

/// Longest text of a config. A ConfigMap holds 1 MiB.
const CONFIG_BYTES_MAX: usize = 512 * 1024;
/// Longest spec as JSON. A request to etcd holds 1.5 MiB, and the revision's copy of the spec carries templates too.
const SPEC_BYTES_MAX: usize = 700 * 1024;

/// Rule: the text of the config is not too long.
pub(super) fn config(subject: &Subject<'_>) -> Vec<Finding> {
    let length = subject.composition.config_text.len();
    too_long(
        FieldPath::spec("pipeline_config"),
        length,
        CONFIG_BYTES_MAX,
        "as the text in its ConfigMap",
    )
}

/// Rule: the spec is not too long.
pub(super) fn spec(subject: &Subject<'_>) -> Vec<Finding> {
    let mut counter = Counter(0);
    // Counting cannot fail, and the spec is of types that JSON has.
    let _ = serde_json::to_writer(&mut counter, &*subject.spec);
    too_long(FieldPath::default().key("spec"), counter.0, SPEC_BYTES_MAX, "as JSON")
}

fn too_long(path: FieldPath, length: usize, length_max: usize, form: &str) -> Vec<Finding> {
    if length <= length_max {
        return Vec::new();
    }
    let message = format!("has {length} bytes {form}, at most {length_max} are allowed");
    vec![Finding::of_value(path, FaultKind::TooLong, message)]
}

/// Counts what is written.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
