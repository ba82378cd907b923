//! The lives that kwok gives to Pods and nodes.
//!
//! kwok's own stages make a Pod run and be ready at once, and end at once when it is deleted. Ours are chosen by the
//! Pod's annotation [`LIFE`] and step in for them; `tests/testkit/stages/` has one file a life.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{assets, install};

/// The annotation that chooses a life: one of the constants below.
pub const LIFE: &str = "testkit/life";
/// The image cannot be pulled. The same without the annotation when an image's tag is `bad`.
pub const PULL_ERROR: &str = "pull-error";
/// Becomes ready and fails [`AFTER`] later, with the exit code of the annotation `testkit/exit-code` (1 without it) and
/// the reason of `testkit/reason` (Error without it).
pub const CRASH: &str = "crash";
/// Runs and never becomes ready.
pub const NEVER_READY: &str = "never-ready";
/// Runs and becomes ready [`AFTER`] later.
pub const SLOW_START: &str = "slow-start";
/// When deleted, stays for its whole grace period.
pub const GRACEFUL: &str = "graceful";
/// When deleted, stays until it is deleted without grace.
pub const STUCK_TERMINATING: &str = "stuck-terminating";

/// The annotation with a time in Go notation, as `5s`; one second without it.
pub const AFTER: &str = "testkit/after";

const OWN: [&str; 4] = [
    include_str!("../stages/pull-error.yaml"),
    include_str!("../stages/never-ready.yaml"),
    include_str!("../stages/crash.yaml"),
    include_str!("../stages/graceful.yaml"),
];

/// All stages as one file for kwok: its own for ordinary Pods and nodes, and ours.
///
/// # Errors
/// When kwok's own cannot be read.
pub fn all() -> Result<String> {
    let folder = assets::asset("kwok-stages")?;
    let mut stages = Vec::new();
    for (file, exceptions) in [
        (
            "pod/fast/pod-ready.yaml",
            vec![life_is_none_of(&[PULL_ERROR, NEVER_READY, SLOW_START]), image_is_good()],
        ),
        ("pod/fast/pod-complete.yaml", Vec::new()),
        (
            "pod/fast/pod-delete.yaml",
            vec![life_is_none_of(&[GRACEFUL, STUCK_TERMINATING])],
        ),
        ("node/fast/node-initialize.yaml", Vec::new()),
        ("node/heartbeat-with-lease/node-heartbeat-with-lease.yaml", Vec::new()),
    ] {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for mut stage in install::documents(&text)? {
            if !exceptions.is_empty() {
                let expressions = stage
                    .pointer_mut("/spec/selector/matchExpressions")
                    .and_then(Value::as_array_mut);
                expressions
                    .with_context(|| format!("{file} selects nothing"))?
                    .extend(exceptions.clone());
            }
            stages.push(stage);
        }
    }
    for text in OWN {
        stages.extend(install::documents(text)?);
    }
    // JSON is YAML.
    let documents: Vec<String> = stages.iter().map(Value::to_string).collect();
    Ok(documents.join("\n---\n"))
}

fn life_is_none_of(lives: &[&str]) -> Value {
    json!({ "key": format!(".metadata.annotations[\"{LIFE}\"]"), "operator": "NotIn", "values": lives })
}

fn image_is_good() -> Value {
    json!({ "key": ".spec.containers.[].image | select( endswith(\":bad\") )", "operator": "DoesNotExist" })
}
