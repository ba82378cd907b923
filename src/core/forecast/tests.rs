//! What is foretold of edits. Pods are named `s-pipeline-p-0-ORDINAL-GENERATION`, those of the canary set
//! `s-pipeline-p-0-canary-ORDINAL-GENERATION`; the tests leave the common part out.

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::api::StreamingPipelineSpec;

/// A spec with these fields set, `rollout` as a whole.
fn pipeline(fields: &Value) -> ValidPipeline {
    let mut spec = json!({
        "service_name": "s", "pipeline_module": "m", "image_name": "i:1", "cpu_per_process": 1,
        "memory_per_process": 1, "deployment_template": {}, "container_template": {},
        "pipeline_config": {"pipeline": {"segments": []}},
    });
    for (field, value) in fields.as_object().expect("fields") {
        spec[field] = value.clone();
    }
    let spec = StreamingPipelineSpec::deserialize(&spec).expect("a spec");
    ValidPipeline::take("p", spec).expect("a valid pipeline")
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

fn edit(old: &Value, new: &Value) -> Forecast {
    forecast("ns", "p", Some(&pipeline(old)), &pipeline(new), now())
}

/// Each step in short: `-` a Pod deleted, `+` one created, and the number of available consumers.
fn steps(forecast: &Forecast) -> Vec<String> {
    let short = |name: &str| name.strip_prefix("s-pipeline-p-0-").expect("a Pod's name").to_owned();
    let told = forecast.steps.iter().map(|step| {
        let deleted = step.deleted.iter().map(|(name, _)| format!("-{}", short(name)));
        let created = step.created.iter().map(|(name, _)| format!("+{}", short(name)));
        let mut words: Vec<_> = deleted.chain(created).collect();
        words.push(format!("({})", step.available));
        if step.after_analysis {
            words.insert(0, "analysis".to_owned());
        }
        words.join(" ")
    });
    told.collect()
}

fn fields(forecast: &Forecast, makes_revision: bool) -> Vec<&'static str> {
    let edited = forecast
        .edited
        .iter()
        .filter(|edited| edited.makes_revision == makes_revision);
    edited.map(|edited| edited.field).collect()
}

const NO_STEP: [&str; 0] = [];
const NO_NAME: [&str; 0] = [];

#[test]
fn a_first_deployment_creates_its_config_map_and_every_pod_the_canary_first() {
    let new = pipeline(&json!({"replicas": 3, "with_canary": true}));
    let forecast = forecast("ns", "p", None, &new, now());
    assert_eq!(steps(&forecast), ["+canary-0-0 +0-0 +1-0 (0)"]);
    assert_eq!(forecast.config_maps, ["s-pipeline-p-0-d07b973b71"]);
    assert_eq!((forecast.replaced(), forecast.created(), forecast.from), (0, 3, None));
    assert_eq!(forecast.phase, Phase::Complete);
}

#[test]
fn an_edit_of_replicas_alone_replaces_nothing() {
    let forecast = edit(&json!({"replicas": 3}), &json!({"replicas": 5}));
    assert_eq!(steps(&forecast), ["+3-0 +4-0 (3)"]);
    assert_eq!((forecast.replaced(), forecast.lowest), (0, 3));
    assert_eq!(fields(&forecast, false), ["replicas"]);
    assert_eq!(forecast.config_maps, NO_NAME);
    let forecast = edit(&json!({"replicas": 5}), &json!({"replicas": 3}));
    assert_eq!(steps(&forecast), ["-4-0 -3-0 (3)"]);
    assert_eq!(forecast.replaced(), 0);
}

#[test]
fn an_edit_of_how_to_roll_out_changes_no_pod() {
    let rollout = json!({
        "maxUnavailable": 2, "minReadySeconds": 5, "progressDeadlineSeconds": 60, "onFailure": "Rollback",
        "podReplacementPolicy": "Failed", "requireAnalysis": true, "paused": true,
    });
    let new = json!({"replicas": 3, "rollout": rollout, "revisionHistoryLimit": 3});
    let forecast = edit(&json!({"replicas": 3}), &new);
    assert_eq!(steps(&forecast), NO_STEP);
    assert_eq!((forecast.replaced(), forecast.lowest), (0, 3));
    assert_eq!(forecast.from.as_ref(), Some(&forecast.to));
    assert_eq!(
        fields(&forecast, false),
        [
            "rollout.paused",
            "rollout.maxUnavailable",
            "rollout.minReadySeconds",
            "rollout.progressDeadlineSeconds",
            "rollout.podReplacementPolicy",
            "rollout.requireAnalysis",
            "rollout.onFailure",
            "revisionHistoryLimit"
        ]
    );
}

#[test]
fn an_edit_of_the_image_replaces_every_pod_within_the_budget() {
    let forecast = edit(&json!({"replicas": 3}), &json!({"replicas": 3, "image_name": "i:2"}));
    assert_eq!(steps(&forecast), ["-0-0 +0-1 (2)", "-1-0 +1-1 (2)", "-2-0 +2-1 (2)"]);
    assert_eq!(fields(&forecast, true), ["image_name"]);
    assert_eq!((forecast.replaced(), forecast.lowest), (3, 2));
    // The config is the same, and so is its ConfigMap.
    assert_eq!(forecast.config_maps, NO_NAME);
    assert_ne!(forecast.from.as_ref(), Some(&forecast.to));
}

#[test]
fn a_percentage_makes_the_batches() {
    let of = |image: &str| json!({"replicas": 10, "image_name": image, "rollout": {"maxUnavailable": "25%"}});
    let forecast = edit(&of("i:1"), &of("i:2"));
    assert_eq!(
        steps(&forecast),
        [
            "-0-0 -1-0 +0-1 +1-1 (8)",
            "-2-0 -3-0 +2-1 +3-1 (8)",
            "-4-0 -5-0 +4-1 +5-1 (8)",
            "-6-0 -7-0 +6-1 +7-1 (8)",
            "-8-0 -9-0 +8-1 +9-1 (8)"
        ]
    );
    assert_eq!((forecast.replaced(), forecast.lowest), (10, 8));
}

#[test]
fn the_only_pod_goes_when_its_successor_is_available() {
    let forecast = edit(&json!({}), &json!({"image_name": "i:2"}));
    assert_eq!(steps(&forecast), ["+0-1 (1)", "-0-0 (1)"]);
    assert_eq!((forecast.replaced(), forecast.lowest), (1, 1));
    // With static membership two Pods of an ordinal must not run at once.
    let of = |image: &str| json!({"image_name": image, "rollout": {"podReplacementPolicy": "Failed"}});
    let forecast = edit(&of("i:1"), &of("i:2"));
    assert_eq!(steps(&forecast), ["-0-0 (0)", "+0-1 (0)"]);
    assert_eq!((forecast.replaced(), forecast.lowest), (1, 0));
}

#[test]
fn the_canary_goes_first() {
    let of = |image: &str| json!({"replicas": 3, "with_canary": true, "image_name": image});
    let forecast = edit(&of("i:1"), &of("i:2"));
    assert_eq!(
        steps(&forecast),
        ["-canary-0-0 +canary-0-1 (2)", "-0-0 +0-1 (2)", "-1-0 +1-1 (2)"]
    );
}

#[test]
fn a_required_analysis_stands_between_the_canary_and_the_others() {
    let of = |image: &str| json!({"replicas": 2, "with_canary": true, "image_name": image, "rollout": {"requireAnalysis": true}});
    let forecast = edit(&of("i:1"), &of("i:2"));
    assert_eq!(
        steps(&forecast),
        ["-canary-0-0 +canary-0-1 (1)", "analysis -0-0 +0-1 (1)"]
    );
    assert_eq!(forecast.phase, Phase::Complete);
}

#[test]
fn switching_the_canary_on_moves_one_pod() {
    let forecast = edit(&json!({"replicas": 3}), &json!({"replicas": 3, "with_canary": true}));
    assert_eq!(steps(&forecast), ["-2-0 +canary-0-0 (2)"]);
    assert_eq!(fields(&forecast, false), ["with_canary"]);
    assert_eq!((forecast.replaced(), forecast.lowest), (1, 2));
    assert_eq!(forecast.from.as_ref(), Some(&forecast.to));
}

#[test]
fn an_edit_of_the_config_makes_another_config_map() {
    let config = json!({"pipeline": {"segments": [{"steps_config": {}}]}});
    let new = json!({"replicas": 2, "pipeline_config": config, "log_level": "DEBUG"});
    let forecast = edit(&json!({"replicas": 2}), &new);
    assert_eq!(forecast.config_maps, ["s-pipeline-p-0-bf38b44398"]);
    assert_eq!(fields(&forecast, true), ["pipeline_config", "log_level"]);
    assert_eq!(steps(&forecast), ["-0-0 +0-1 (1)", "-1-0 +1-1 (1)"]);
}

#[test]
fn suspending_and_scaling_to_zero_take_every_pod_at_once() {
    for new in [json!({"replicas": 3, "suspend": true}), json!({"replicas": 0})] {
        let forecast = edit(&json!({"replicas": 3}), &new);
        assert_eq!(steps(&forecast), ["-0-0 -1-0 -2-0 (0)"]);
        assert_eq!((forecast.replaced(), forecast.lowest, forecast.wanted), (0, 0, 0));
        assert_eq!(forecast.phase, Phase::Suspended);
    }
}

#[test]
fn a_paused_edit_replaces_nothing_until_it_is_resumed() {
    let new = json!({"replicas": 2, "image_name": "i:2", "rollout": {"paused": true}});
    let forecast = edit(&json!({"replicas": 2}), &new);
    assert_eq!(steps(&forecast), NO_STEP);
    assert_eq!(
        (forecast.phase, &forecast.holds[..]),
        (Phase::Paused, &[HoldBy::Paused][..])
    );
}

#[test]
fn a_new_order_to_restart_replaces_every_pod_by_one_of_the_same_revision() {
    for time in ["2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z"] {
        let new = json!({"replicas": 2, "rollout": {"restartAt": time}});
        let forecast = edit(&json!({"replicas": 2}), &new);
        assert_eq!(steps(&forecast), ["-0-0 +0-1 (1)", "-1-0 +1-1 (1)"]);
        assert_eq!(forecast.from.as_ref(), Some(&forecast.to));
        // It has done its work when something else is edited later.
        let later = json!({"replicas": 3, "rollout": {"restartAt": time}});
        assert_eq!(steps(&edit(&new, &later)), ["+2-0 (2)"]);
    }
}

#[test]
fn many_pods_one_by_one_come_to_an_end() {
    let of = |image: &str| json!({"replicas": 60, "image_name": image, "rollout": {"maxUnavailable": 1}});
    let forecast = edit(&of("i:1"), &of("i:2"));
    assert_eq!((forecast.steps.len(), forecast.lowest), (60, 59));
    assert_eq!(forecast.phase, Phase::Complete);
}
