//! Properties of defaulting, validation and rendering that hold for any input.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on ends in a panic"
)]

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use streaming_operator::api::StreamingPipelineSpec;
use streaming_operator::core::defaults::apply_defaults;
use streaming_operator::core::render::render;
use streaming_operator::core::valid::ValidPipeline;
use streaming_operator::core::validation::validate;

/// Keys that mean something to the operator, so that random objects meet the paths it merges.
const KEYS: [&str; 24] = [
    "metadata",
    "spec",
    "template",
    "containers",
    "initContainers",
    "volumes",
    "name",
    "labels",
    "annotations",
    "env",
    "image",
    "resources",
    "requests",
    "limits",
    "cpu",
    "memory",
    "volumeMounts",
    "mountPath",
    "livenessProbe",
    "pipeline",
    "segments",
    "steps_config",
    "parallelism",
    "multi_process",
];

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(&KEYS[..]).prop_map(str::to_owned), 1 => any::<String>()]
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][-+]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|literal| serde_json::from_str(&literal).expect("a number")),
        any::<String>().prop_map(Value::String),
        any_key().prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            btree_map(any_key(), inner, 0..5).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    btree_map(any_key(), any_value(), 0..5).prop_map(|fields| fields.into_iter().collect())
}

/// Whatever the CRD's schema lets through, and a little more.
fn any_pipeline() -> impl Strategy<Value = Value> {
    let names = ("[a-zA-Z._/-]{0,30}", "[a-zA-Z._/-]{0,30}", any::<String>());
    let numbers = (any::<i64>(), any::<i64>(), -1..1001_i64, -1..3_i64);
    let objects = (
        any_object(),
        any_object(),
        any_object(),
        proptest::option::of(any_object()),
    );
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (names, numbers, objects, flags).prop_map(|(names, numbers, objects, flags)| {
        let mut spec = json!({
            "service_name": names.0, "pipeline_name": names.1, "pipeline_module": names.2, "image_name": "i:1",
            "cpu_per_process": numbers.0, "memory_per_process": numbers.1, "replicas": numbers.2,
            "segment_id": numbers.3, "deployment_template": objects.0, "container_template": objects.1,
            "pipeline_config": objects.2, "with_canary": flags.0, "enable_liveness_probe": flags.1,
            "suspend": flags.2,
        });
        if let Some(patch) = objects.3 {
            spec["emergency_patch"] = patch;
        }
        json!({"metadata": {"name": "n"}, "spec": spec})
    })
}

/// Pipelines of which many are valid.
fn plausible_pipeline() -> impl Strategy<Value = Value> {
    let step = prop_oneof![
        Just(json!({})),
        (0..9_i64).prop_map(|processes| json!({"parallelism": {"multi_process": {"processes": processes}}})),
    ];
    let env = btree_map(any::<String>(), any_value(), 0..4);
    let names = ("[a-z][a-z._]{0,9}", "[a-z][a-z._]{0,9}");
    (names, step, env, 1..9999_i64, 0..20_i64, any::<bool>()).prop_map(|(names, step, env, cpu, replicas, canary)| {
        let env: Value = env.into_iter().collect();
        json!({"metadata": {"name": "n"}, "spec": {
            "service_name": names.0, "pipeline_name": names.1, "pipeline_module": "m", "image_name": "i:1",
            "cpu_per_process": cpu, "memory_per_process": cpu, "replicas": replicas, "with_canary": canary,
            "deployment_template": {}, "container_template": {},
            "pipeline_config": {"env": env, "pipeline": {"segments": [{"steps_config": {"a": step}}]}},
        }})
    })
}

fn parsed(object: &Value) -> Option<ValidPipeline> {
    let spec = StreamingPipelineSpec::deserialize(&object["spec"]).ok()?;
    ValidPipeline::parse("n", &spec).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn validation_answers_to_any_value(object in any_value(), old in any_value()) {
        let _ = validate(&object, Some(&old));
    }

    #[test]
    fn a_pipeline_is_valid_to_the_webhook_when_it_is_to_the_controller(object in any_pipeline()) {
        let verdict = validate(&object, None);
        prop_assert_eq!(verdict.violations.is_empty(), parsed(&object).is_some());
    }

    #[test]
    fn no_fault_is_new_when_nothing_has_changed(object in any_pipeline()) {
        prop_assert_eq!(validate(&object, Some(&object)).violations, vec![]);
    }

    #[test]
    fn rendering_gives_the_same_again_and_after_defaulting(object in plausible_pipeline()) {
        let mut defaulted = object.clone();
        apply_defaults(&mut defaulted);
        let mut twice = defaulted.clone();
        apply_defaults(&mut twice);
        prop_assert_eq!(&twice, &defaulted);
        let valid = parsed(&object).expect("a valid pipeline");
        let again = parsed(&defaulted).expect("a valid pipeline");
        prop_assert_eq!(valid.revision(), again.revision());
        let rendered = render(&valid);
        prop_assert_eq!(&rendered, &render(&again));
        prop_assert_eq!(
            serde_json::to_string(&rendered.primary.template).expect("JSON"),
            serde_json::to_string(&render(&valid).primary.template).expect("JSON")
        );
    }

    #[test]
    fn the_text_of_a_config_reads_back_as_the_config(object in plausible_pipeline()) {
        let valid = parsed(&object).expect("a valid pipeline");
        let text = render(&valid).config.text;
        prop_assert!(text.is_ascii());
        // Infinity, which is what Python writes for a number beyond all floats, is no JSON.
        if !text.contains("Infinity") {
            let read: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert_eq!(
                &read["pipeline"],
                &object["spec"]["pipeline_config"]["pipeline"]
            );
        }
    }
}
