//! How many processes a consumer runs, as its pipeline's config says.
//!
//! Must never guess: what the Python operator would stumble over is a fault with a path.

use serde_json::Value;

use crate::api::streaming_pipeline::OpenObject;

use super::path::At;
use super::violation::{FaultKind, Finding};

/// What the config says of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MultiProcess {
    /// `processes` of the one segment that has it; `None` when no segment has. 0 is possible and counts as 1.
    pub(super) processes: Option<i64>,
    /// What cannot be read or contradicts itself.
    pub(super) findings: Vec<Finding>,
}

impl MultiProcess {
    /// Reads `spec.pipeline_config`. In each segment the first step, in the order of its keys, that has processes
    /// counts, and only one segment may have such a step: sentry-streams runs a pipeline's worker processes in one.
    #[must_use]
    pub(super) fn of(config: &OpenObject) -> Self {
        let (spec, pipeline);
        let root = At::Root;
        spec = At::Key(&root, "spec");
        let config_at = At::Key(&spec, "pipeline_config");
        pipeline = At::Key(&config_at, "pipeline");
        let segments_at = At::Key(&pipeline, "segments");
        let segments = config.get("pipeline").and_then(|pipeline| pipeline.get("segments"));
        let mut found = Self::default();
        let mut marked: Vec<usize> = Vec::new();
        for (index, segment) in segments.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let at = At::Index(&segments_at, index);
            if found.read_segment(segment, &At::Key(&at, "steps_config"), marked.is_empty()) {
                marked.push(index);
            }
        }
        if let [first, others @ ..] = marked.as_slice() {
            for index in others {
                let path = At::Index(&segments_at, *index).path();
                let message = format!(
                    "has a multi-process step, and so has segment {first}: only one segment of a pipeline may have one"
                );
                found
                    .findings
                    .push(Finding::of_value(path, FaultKind::Invalid, message));
            }
        }
        found
    }

    /// Whether the segment has processes; they are kept when `keep`.
    fn read_segment(&mut self, segment: &Value, at: &At<'_>, keep: bool) -> bool {
        let steps = segment.get("steps_config").and_then(Value::as_object);
        for (name, step) in steps.into_iter().flatten() {
            let multi_process = match step.get("parallelism") {
                Some(Value::Object(parallelism)) => parallelism.get("multi_process"),
                // sentry-streams reads any other value as "no parallelism".
                _ => None,
            };
            let Some(multi_process) = multi_process.filter(|value| is_truthy(value)) else {
                continue;
            };
            let step_at = At::Key(at, name);
            let parallelism_at = At::Key(&step_at, "parallelism");
            let at = At::Key(&parallelism_at, "multi_process");
            let Value::Object(multi_process) = multi_process else {
                self.findings.push(Finding::of_value(
                    at.path(),
                    FaultKind::TypeInvalid,
                    "must be an object with the field processes",
                ));
                continue;
            };
            let processes = multi_process.get("processes").filter(|value| !value.is_null());
            if let Some(processes) = processes {
                let read = self.read_processes(processes, &At::Key(&at, "processes"));
                if keep {
                    self.processes = read;
                }
                return true;
            }
        }
        false
    }

    fn read_processes(&mut self, value: &Value, at: &At<'_>) -> Option<i64> {
        let (kind, message) = match value {
            Value::Bool(value) => return Some(i64::from(*value)),
            Value::Number(number) => match number.as_i64() {
                Some(processes) if processes >= 0 => return Some(processes),
                Some(_) => (FaultKind::Invalid, "must not be negative: the requests would be"),
                None => (FaultKind::Invalid, "must be a whole number of at most 64 bits"),
            },
            _ => (FaultKind::TypeInvalid, "must be an integer"),
        };
        self.findings.push(Finding::of_value(at.path(), kind, message));
        None
    }
}

/// What Python takes for true.
pub(super) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(segments: &Value) -> (Option<i64>, Vec<String>) {
        let config = json!({"pipeline": {"segments": segments}});
        let read = MultiProcess::of(config.as_object().expect("an object"));
        let paths = read.findings.iter().map(|finding| {
            let path = finding.path.to_string();
            path.replace("spec.pipeline_config.pipeline.", "")
        });
        (read.processes, paths.collect())
    }

    fn step(processes: &Value) -> Value {
        json!({"parallelism": {"multi_process": {"processes": processes}}})
    }

    #[test]
    fn the_first_step_that_has_processes_counts() {
        assert_eq!(
            read(&json!([{"steps_config": {"z": step(&json!(5)), "a": step(&json!(3))}}])),
            (Some(5), vec![])
        );
        assert_eq!(
            read(&json!([{}, {"steps_config": {"z": step(&json!(null)), "a": step(&json!(3))}}])),
            (Some(3), vec![])
        );
    }

    #[test]
    fn what_python_takes_for_false_is_no_parallelism() {
        for parallelism in [
            json!(null),
            json!(7),
            json!([1]),
            json!({}),
            json!({"multi_process": 0}),
            json!({"multi_process": {}}),
        ] {
            assert_eq!(
                read(&json!([{"steps_config": {"a": {"parallelism": parallelism}}}])),
                (None, vec![]),
                "{parallelism}"
            );
        }
    }

    #[test]
    fn a_second_segment_with_processes_is_a_fault() {
        let segment = json!({"steps_config": {"a": step(&json!(1))}});
        assert_eq!(
            read(&json!([{}, segment, segment])),
            (Some(1), vec!["segments[2]".to_owned()])
        );
    }

    #[test]
    fn what_is_no_number_of_processes_is_a_fault_with_its_path() {
        for processes in [json!("4"), json!([4]), json!({}), json!(2.5), json!(-2), json!(1e30)] {
            assert_eq!(
                read(&json!([{"steps_config": {"a": step(&processes)}}])),
                (
                    None,
                    vec!["segments[0].steps_config.a.parallelism.multi_process.processes".to_owned()]
                ),
                "{processes}"
            );
        }
        assert_eq!(
            read(&json!([{"steps_config": {"a": {"parallelism": {"multi_process": true}}}}])),
            (
                None,
                vec!["segments[0].steps_config.a.parallelism.multi_process".to_owned()]
            )
        );
    }
}
