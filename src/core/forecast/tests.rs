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

/// A pipeline with this `restartAt`, if any, and other fields.
fn restarted(at: Option<&str>, fields: &Value) -> Value {
    let mut all = fields.clone();
    if let Some(at) = at {
        all["rollout"]["restartAt"] = json!(at);
    }
    all
}

#[test]
fn a_new_order_to_restart_replaces_every_pod_by_one_of_the_same_revision() {
    let two = json!({"replicas": 2});
    for (old, new) in [
        (None, "2020-01-01T00:00:00Z"),
        (Some("2019-01-01T00:00:00Z"), "2020-01-01T00:00:00Z"),
        // Now, to the second.
        (None, "2027-01-15T08:00:00Z"),
        // The old one had not come, so nothing is known to be younger.
        (Some("2090-01-01T00:00:00Z"), "2020-01-01T00:00:00Z"),
    ] {
        let forecast = edit(&restarted(old, &two), &restarted(Some(new), &two));
        assert_eq!(steps(&forecast), ["-0-0 +0-1 (1)", "-1-0 +1-1 (1)"], "{old:?} {new}");
        assert_eq!(forecast.from.as_ref(), Some(&forecast.to));
        assert_eq!(forecast.restart, Restart::Now);
    }
}

#[test]
fn an_order_to_restart_that_is_unchanged_or_moved_back_restarts_nothing() {
    let three = json!({"replicas": 3});
    for (old, new, restart) in [
        ("2020-01-01T00:00:00Z", Some("2019-01-01T00:00:00Z"), Restart::Back),
        ("2020-01-01T00:00:00Z", Some("2020-01-01T01:00:00+01:00"), Restart::None),
        ("2020-01-01T00:00:00Z", None, Restart::None),
        ("2090-01-01T00:00:00Z", Some("2090-01-01T00:00:00Z"), Restart::None),
    ] {
        // Something else is edited as well.
        let forecast = edit(&restarted(Some(old), &json!({"replicas": 2})), &restarted(new, &three));
        assert_eq!(steps(&forecast), ["+2-0 (2)"], "{old} {new:?}");
        assert_eq!(forecast.restart, restart);
    }
}

#[test]
fn an_order_to_restart_that_is_yet_to_come_waits() {
    let at = "2090-01-01T00:00:00Z";
    let later = |pods| Restart::Later {
        at: at.parse().expect("a time"),
        pods,
    };
    let two = json!({"replicas": 2});
    for old in [
        None,
        Some("2020-01-01T00:00:00Z"),
        Some("2080-01-01T00:00:00Z"),
        Some("2091-01-01T00:00:00Z"),
    ] {
        let forecast = edit(&restarted(old, &two), &restarted(Some(at), &two));
        assert_eq!((steps(&forecast), forecast.restart), (vec![], later(2)), "{old:?}");
    }
    let new = pipeline(&restarted(Some(at), &two));
    let first = forecast("ns", "p", None, &new, now());
    assert_eq!(
        (steps(&first), first.restart),
        (vec!["+0-0 +1-0 (0)".to_owned()], later(2))
    );
    let suspended = json!({"replicas": 2, "suspend": true});
    let forecast = edit(&two, &restarted(Some(at), &suspended));
    assert_eq!(forecast.restart, Restart::None);
}

/// An edit of the image beside an order to restart that has come.
fn edit_and_restart(old: &Value) -> Forecast {
    let mut new = restarted(Some("2020-01-01T00:00:00Z"), old);
    new["image_name"] = json!("i:2");
    edit(old, &new)
}

#[test]
fn a_restart_beside_an_edit_of_the_image_replaces_each_pod_once() {
    let told = edit_and_restart(&json!({"replicas": 3}));
    assert_eq!(steps(&told), ["-0-0 +0-1 (2)", "-1-0 +1-1 (2)", "-2-0 +2-1 (2)"]);
    let told = edit_and_restart(&json!({"replicas": 1}));
    assert_eq!(steps(&told), ["+0-1 (1)", "-0-0 (1)"]);
    let told = edit_and_restart(&json!({"replicas": 3, "with_canary": true}));
    assert_eq!(
        steps(&told),
        ["-canary-0-0 +canary-0-1 (2)", "-0-0 +0-1 (2)", "-1-0 +1-1 (2)"]
    );
}

/// As in a cluster: a restart has no gate.
#[test]
fn a_restart_for_which_the_budget_has_room_does_not_wait_for_the_canary() {
    let told = edit_and_restart(&json!({"replicas": 3, "with_canary": true, "rollout": {"maxUnavailable": 2}}));
    assert_eq!(
        steps(&told),
        ["-canary-0-0 -0-0 +canary-0-1 +0-1 (1)", "-0-1 -1-0 +0-2 +1-1 (1)"]
    );
}

#[test]
fn many_pods_one_by_one_come_to_an_end() {
    let of = |image: &str| json!({"replicas": 60, "image_name": image, "rollout": {"maxUnavailable": 1}});
    let forecast = edit(&of("i:1"), &of("i:2"));
    assert_eq!((forecast.steps.len(), forecast.lowest), (60, 59));
    assert_eq!(forecast.phase, Phase::Complete);
}

#[test]
fn experiment() {
    for (old, new) in [
        (
            json!({"replicas": 2}),
            json!({"replicas": 2, "image_name": "i:2", "rollout": {"restartAt": "2020-01-01T00:00:00Z"}}),
        ),
        (
            json!({"replicas": 2}),
            json!({"replicas": 2, "log_level": "DEBUG", "rollout": {"restartAt": "2020-01-01T00:00:00Z"}}),
        ),
        (
            json!({"replicas": 3, "with_canary": true}),
            json!({"replicas": 3, "with_canary": true, "log_level": "DEBUG", "rollout": {"restartAt": "2020-01-01T00:00:00Z"}}),
        ),
        (
            json!({"replicas": 1}),
            json!({"replicas": 1, "log_level": "DEBUG", "rollout": {"restartAt": "2020-01-01T00:00:00Z"}}),
        ),
        (
            json!({"replicas": 3}),
            json!({"replicas": 5, "rollout": {"restartAt": "2020-01-01T00:00:00Z"}}),
        ),
    ] {
        let forecast = edit(&old, &new);
        eprintln!("{new}: {:?}", steps(&forecast));
    }
}
