//! Any spec, and any edit of it: validation answers, webhook and controller agree, rendering gives the same again, and a
//! rollout comes to its end within its budget.

#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use streaming_operator::api::StreamingPipelineSpec;
use streaming_operator::core::defaults::apply_defaults;
use streaming_operator::core::forecast::forecast;
use streaming_operator::core::plan::Phase;
use streaming_operator::core::valid::ValidPipeline;
use streaming_operator::core::validation::validate;

/// Keys that mean something, so that random objects meet the paths that are merged and validated.
const KEYS: [&str; 48] = [
    "metadata", "spec", "template", "containers", "initContainers", "volumes", "name", "labels", "annotations", "env",
    "image", "resources", "requests", "limits", "cpu", "memory", "volumeMounts", "mountPath", "livenessProbe",
    "pipeline", "segments", "steps_config", "parallelism", "multi_process", "processes", "adapter_config", "arroyo",
    "write_healthcheck", "ports", "containerPort", "protocol", "value", "emptyDir", "configMap", "restartPolicy",
    "terminationGracePeriodSeconds", "selector", "matchLabels", "replicas", "apiVersion", "kind", "namespace", "dlq",
    "topic", "bootstrap_servers", "starts_segment", "metrics", "type",
];

/// Texts that are valid somewhere.
const TEXTS: [&str; 16] = [
    "pipeline-consumer", "pipeline-config", "liveness-health", "/tmp", "/etc/pipeline-config", "a", "b", "1", "100m",
    "1Gi", "-1", "TCP", "datadog", "x.y_z", "registry.example/app:1", "é😀",
];

/// Number literals that are read, rounded or written in ways of their own.
const NUMBERS: [&str; 14] = [
    "0", "1", "-1", "2", "8080", "1.0", "-0.0", "1e5", "1E400", "1e-7", "9007199254740993", "18446744073709551616",
    "0.1", "100000000000000000000",
];

/// A JSON value of any form, at most six deep.
fn value(u: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    let kinds = if depth == 0 { 5 } else { 9 };
    Ok(match u.int_in_range(0..=kinds)? {
        0 => Value::Null,
        1 => Value::Bool(bool::arbitrary(u)?),
        2 => serde_json::from_str(u.choose(&NUMBERS)?).unwrap_or(Value::Null),
        3 => Value::from(i64::arbitrary(u)?),
        4 => Value::from(*u.choose(&TEXTS)?),
        5 => Value::from(String::arbitrary(u)?),
        6 | 7 => Value::Array(list(u, depth)?),
        _ => Value::Object(object(u, depth)?),
    })
}

fn list(u: &mut Unstructured<'_>, depth: u8) -> Result<Vec<Value>> {
    let length = u.int_in_range(0..=3)?;
    (0..length).map(|_| value(u, depth - 1)).collect()
}

fn object(u: &mut Unstructured<'_>, depth: u8) -> Result<Map<String, Value>> {
    let length = u.int_in_range(0..=5)?;
    let entry = |u: &mut Unstructured<'_>| {
        let key = if u.ratio(1, 12)? { String::arbitrary(u)? } else { (*u.choose(&KEYS)?).to_owned() };
        Ok((key, value(u, depth.saturating_sub(1))?))
    };
    (0..length).map(|_| entry(u)).collect()
}

/// A spec; most of its fields are valid, so that it comes to rendering.
fn spec(u: &mut Unstructured<'_>) -> Result<Value> {
    let mut spec = json!({
        "service_name": "svc", "pipeline_module": "m", "image_name": "i:1", "cpu_per_process": 100,
        "memory_per_process": 100, "deployment_template": {}, "container_template": {},
        "pipeline_config": {"pipeline": {"segments": [{"steps_config": {}}]}},
    });
    let mut set = |field: &str, value: Value| spec[field] = value;
    for _ in 0..u.int_in_range(0..=4)? {
        match u.int_in_range(0..=13)? {
            0 => set("deployment_template", Value::Object(object(u, 6)?)),
            1 => set("container_template", Value::Object(object(u, 5)?)),
            2 => set("pipeline_config", Value::Object(object(u, 6)?)),
            3 => set("emergency_patch", Value::Object(object(u, 6)?)),
            4 => set("pipeline_config", json!({"pipeline": {"segments": [{"steps_config": value(u, 5)?}]}})),
            5 => set("deployment_template", json!({"spec": {"template": {"spec": object(u, 5)?}}})),
            6 => set("emergency_patch", json!({"spec": {"template": {"spec": object(u, 5)?}}})),
            7 => set("service_name", value(u, 1)?),
            8 => set("pipeline_name", value(u, 1)?),
            9 => set("image_name", value(u, 1)?),
            10 => set("segment_id", value(u, 1)?),
            11 => set("cpu_per_process", value(u, 1)?),
            12 => set("container_name", value(u, 1)?),
            _ => {
                let field = *u.choose(&["log_level", "suspend", "replicas", "rollout", "revisionHistoryLimit"])?;
                set(field, value(u, 3)?);
            }
        }
    }
    set("replicas", json!(u.int_in_range(0..=7)?));
    set("with_canary", json!(bool::arbitrary(u)?));
    set("suspend", json!(u.ratio(1, 8)?));
    if bool::arbitrary(u)? {
        let policy = *u.choose(&["TerminatingOrFailed", "Failed"])?;
        let percent = format!("{}%", u.int_in_range(1..=100)?);
        set("rollout", json!({
            "paused": u.ratio(1, 8)?, "podReplacementPolicy": policy, "requireAnalysis": bool::arbitrary(u)?,
            "maxUnavailable": if bool::arbitrary(u)? { json!(percent) } else { json!(u.int_in_range(1..=9)?) },
            "onFailure": u.choose(&["Pause", "Rollback"])?,
        }));
    }
    Ok(spec)
}

/// Whether a typed field is null, or the rollout a list, which serde reads as an object. The schema of the CRD refuses both,
/// so they never come to the controller.
fn is_refused_by_the_schema(object: &Value) -> bool {
    let fields = |value: &Value| value.as_object().is_some_and(|fields| fields.values().any(Value::is_null));
    let rollout = &object["spec"]["rollout"];
    rollout.is_array() || fields(&object["spec"]) || fields(rollout)
}

fn parsed(object: &Value) -> Option<ValidPipeline> {
    let spec = StreamingPipelineSpec::deserialize(&object["spec"]).ok()?;
    ValidPipeline::take("n", spec).ok()
}

/// Judges one object, with its defaults and without; gives the pipeline when it is valid.
fn judge(object: &Value) -> Option<ValidPipeline> {
    let verdict = validate(object, None);
    let mut defaulted = object.clone();
    apply_defaults(&mut defaulted);
    let pipeline = parsed(&defaulted);
    assert_eq!(verdict.violations.is_empty(), pipeline.is_some(), "{:?}", verdict.violations);
    assert_eq!(validate(object, Some(object)).violations, vec![], "nothing is new in no edit");
    let pipeline = pipeline?;
    let plain = parsed(object)?;
    assert_eq!(plain.revision(), pipeline.revision());
    assert_eq!(plain.rendered(), pipeline.rendered());
    let text: Value = serde_json::from_str(&pipeline.rendered().config.text).expect("the config's text is JSON");
    assert!(text.is_object());
    Some(pipeline)
}

/// A rollout ends, and keeps as many consumers as its budget says.
fn roll_out(old: &ValidPipeline, new: &ValidPipeline) {
    let start = Timestamp::from_second(1_800_000_000).expect("a time");
    let told = forecast("ns", "n", Some(old), new, start);
    let rests = matches!(told.phase, Phase::Complete | Phase::Suspended | Phase::Paused);
    assert!(rests, "{told:?}");
    if told.phase == Phase::Complete && old.counts().total() == new.counts().total() && told.wanted > 1 {
        // One that completed kept at least one consumer all the time.
        assert!(told.lowest >= 1, "{told:?}");
    }
    let first = forecast("ns", "n", None, new, start);
    assert_eq!((first.replaced(), first.created()), (0, usize::from(new.counts().total())));
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let (Ok(old), Ok(new)) = (spec(&mut u), spec(&mut u)) else { return };
    let object = |spec: Value| json!({"metadata": {"name": "n"}, "spec": spec});
    let (old, new) = (object(old), object(new));
    let _ = validate(&new, Some(&old));
    if is_refused_by_the_schema(&old) || is_refused_by_the_schema(&new) {
        return;
    }
    let (old, new) = (judge(&old), judge(&new));
    if let (Some(old), Some(new)) = (old, new)
        && old.primary_base() == new.primary_base()
    {
        roll_out(&old, &new);
    }
});
