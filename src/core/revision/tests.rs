//! Revisions stay what they are.

use serde_json::{Value, json};

use super::*;

fn spec(edit: impl FnOnce(&mut Value)) -> StreamingPipelineSpec {
    let mut spec = json!({
        "service_name": "svc", "pipeline_name": "pipe", "pipeline_module": "pkg.mod", "image_name": "app:1",
        "cpu_per_process": 100, "memory_per_process": 256, "deployment_template": {}, "container_template": {},
        "pipeline_config": {"pipeline": {"segments": []}},
    });
    edit(&mut spec);
    serde_json::from_value(spec).expect("a spec")
}

fn revision_of(edit: impl FnOnce(&mut Value)) -> String {
    revision(&spec(edit), "pipe").to_string()
}

#[test]
fn the_digest_is_of_the_fields_that_are_set_to_something_else_than_their_default() {
    assert_eq!(
        canonical(&spec(|_| ()), "pipe"),
        r#"{"cpu_per_process":100,"image_name":"app:1","memory_per_process":256,"pipeline_config":{"pipeline":{"segments":[]}},"pipeline_module":"pkg.mod","service_name":"svc"}"#
    );
    let full = spec(|spec| {
        spec["pipeline_name"] = json!("other");
        spec["segment_id"] = json!(2);
        spec["log_level"] = json!("DEBUG");
        spec["enable_liveness_probe"] = json!(false);
        spec["container_name"] = json!("c");
        spec["deployment_template"] = json!({"b": 1.0, "a": null});
        spec["container_template"] = json!({"tty": true});
        spec["emergency_patch"] = json!({"x": "é\n"});
    });
    assert_eq!(
        canonical(&full, "pipe"),
        r#"{"container_name":"c","container_template":{"tty":true},"cpu_per_process":100,"deployment_template":{"a":null,"b":1},"emergency_patch":{"x":"é\n"},"enable_liveness_probe":false,"image_name":"app:1","log_level":"DEBUG","memory_per_process":256,"pipeline_config":{"pipeline":{"segments":[]}},"pipeline_module":"pkg.mod","pipeline_name":"other","segment_id":2,"service_name":"svc"}"#
    );
}

#[test]
fn what_changes_no_template_changes_no_revision() {
    let plain = revision_of(|_| ());
    let same: [fn(&mut Value); 9] = [
        |spec| spec["replicas"] = json!(7),
        |spec| spec["with_canary"] = json!(true),
        |spec| spec["suspend"] = json!(true),
        |spec| spec["revisionHistoryLimit"] = json!(3),
        |spec| spec["rollout"] = json!({"paused": true, "restartAt": "2025-01-01T00:00:00Z"}),
        |spec| spec["emergency_patch"] = json!({}),
        |spec| spec["log_level"] = json!("INFO"),
        |spec| spec["container_name"] = json!("pipeline-consumer"),
        |spec| {
            spec.as_object_mut().expect("an object").remove("pipeline_name");
        },
    ];
    for edit in same {
        assert_eq!(revision_of(edit), plain);
    }
}

#[test]
fn a_number_is_hashed_as_the_api_server_hands_it_out() {
    let with = |number: &str| {
        let config = serde_json::from_str(number).expect("a number");
        revision_of(move |spec: &mut Value| {
            let number: Value = config;
            spec["pipeline_config"]["env"] = json!({"A": number});
        })
    };
    assert_eq!(with("1.0"), with("1"));
    assert_eq!(with("1e20"), with("100000000000000000000"));
    assert_ne!(with("1"), with("2"));
}

/// An edit of the plain spec of this test, and its revision for ever.
type Pin = (fn(&mut Value), &'static str);

/// Never change a digest here: it would restart every Pod of the pipelines that have such a spec.
const PINS: [Pin; 50] = [
    (|_| (), "05b160eb60"),
    (|spec| spec["service_name"] = json!("a"), "fdb2212f4e"),
    (|spec| spec["service_name"] = json!("a.b_c"), "0bfc0488cc"),
    (|spec| spec["service_name"] = json!("日本"), "b75d947298"),
    (|spec| spec["pipeline_name"] = json!("other"), "0880466221"),
    (|spec| spec["pipeline_name"] = json!("p.q"), "240f1424d5"),
    (|spec| spec["pipeline_module"] = json!("x.y"), "6b41685585"),
    (|spec| spec["pipeline_module"] = json!("a/b.py"), "da65ec9ddb"),
    (|spec| spec["image_name"] = json!("app:2"), "2c86968ec0"),
    (
        |spec| spec["image_name"] = json!("registry:5000/app@sha256:00"),
        "afc71e2d11",
    ),
    (|spec| spec["cpu_per_process"] = json!(1), "cd359b7894"),
    (|spec| spec["cpu_per_process"] = json!(4000), "ec00d88fdc"),
    (
        |spec| spec["cpu_per_process"] = json!(1_099_511_627_776_i64),
        "7cd79e136d",
    ),
    (|spec| spec["memory_per_process"] = json!(1), "1ae4c5f6a6"),
    (|spec| spec["memory_per_process"] = json!(8192), "e4c0bdd64d"),
    (|spec| spec["segment_id"] = json!(1), "8849b2125f"),
    (|spec| spec["segment_id"] = json!(12), "2d8ca222a9"),
    (|spec| spec["log_level"] = json!("DEBUG"), "a21ed5bcc4"),
    (|spec| spec["log_level"] = json!("WARNING"), "761f7c4e7d"),
    (|spec| spec["log_level"] = json!("ERROR"), "90075fe657"),
    (|spec| spec["enable_liveness_probe"] = json!(false), "978bf8da6b"),
    (|spec| spec["container_name"] = json!("c"), "da6d67c653"),
    (
        |spec| spec["deployment_template"] = json!({"metadata": {"labels": {"team": "ingest"}}}),
        "767a330fce",
    ),
    (
        |spec| spec["deployment_template"] = json!({"spec": {"template": {"spec": {"serviceAccountName": "sa"}}}}),
        "d509e3d486",
    ),
    (
        |spec| spec["deployment_template"] = json!({"spec": {"template": {"spec": {"nodeSelector": {"pool": "a"}, "terminationGracePeriodSeconds": 60}}}}),
        "612aae9cc0",
    ),
    (|spec| spec["deployment_template"] = json!({"a": null}), "1df84060fd"),
    (|spec| spec["deployment_template"] = json!({"a": {}}), "b03577b22c"),
    (|spec| spec["deployment_template"] = json!({"a": []}), "dd58a6d2f4"),
    (
        |spec| spec["deployment_template"] = json!({"b": 1, "a": 2}),
        "0379e8c330",
    ),
    (
        |spec| spec["container_template"] = json!({"env": [{"name": "A", "value": "1"}]}),
        "15687fbc1c",
    ),
    (
        |spec| spec["container_template"] = json!({"resources": {"limits": {"cpu": 2}}}),
        "cd38c2b455",
    ),
    (|spec| spec["container_template"] = json!({"tty": true}), "c70cc8b9db"),
    (
        |spec| spec["container_template"] = json!({"securityContext": {"runAsUser": 1000}}),
        "83660dd114",
    ),
    (
        |spec| spec["container_template"] = json!({"args": ["-v", "é"]}),
        "9d51e344b5",
    ),
    (
        |spec| spec["pipeline_config"] = json!({"env": {}, "pipeline": {"segments": []}}),
        "d7274e9723",
    ),
    (
        |spec| spec["pipeline_config"] = json!({"pipeline": {"segments": [{}]}}),
        "06d120cb0e",
    ),
    (
        |spec| spec["pipeline_config"] = json!({"pipeline": {"segments": [{"steps_config": {"a": {"x": 1}}}]}}),
        "c9b452c87a",
    ),
    (|spec| spec["pipeline_config"]["env"] = json!({"A": 0.1}), "2941b8672e"),
    (|spec| spec["pipeline_config"]["env"] = json!({"A": 1e-7}), "c565ed18d6"),
    (|spec| spec["pipeline_config"]["env"] = json!({"A": 1e21}), "4e560572cf"),
    (|spec| spec["pipeline_config"]["env"] = json!({"A": -1}), "e2cf5a1367"),
    (
        |spec| spec["pipeline_config"]["env"] = json!({"A": "a\"\\\n\u{1}\u{7f}😀"}),
        "41c3e39a50",
    ),
    (
        |spec| spec["pipeline_config"]["env"] = json!({"é": 1, "z": 2, "😀": 3, "": 4}),
        "db456d15c4",
    ),
    (
        |spec| spec["pipeline_config"]["env"] = json!({"A": [[], {}, null, true]}),
        "c78223f723",
    ),
    (|spec| spec["pipeline_config"] = json!({}), "7d6191cae5"),
    (
        |spec| spec["emergency_patch"] = json!({"spec": {"template": {"spec": {"nodeSelector": {"pool": "safe"}}}}}),
        "787b7cd04a",
    ),
    (
        |spec| {
            spec["emergency_patch"] = json!({"spec": {"template": {"spec": {"containers": [{"name": "pipeline-consumer", "image": "app:3"}]}}}});
        },
        "899a2d370e",
    ),
    (
        |spec| {
            spec["image_name"] = json!("app:2");
            spec["log_level"] = json!("DEBUG");
        },
        "96f18c2d06",
    ),
    (
        |spec| {
            spec["segment_id"] = json!(3);
            spec["container_name"] = json!("c");
        },
        "c9d21babd2",
    ),
    (
        |spec| {
            spec["deployment_template"] = json!({"x": 1});
            spec["emergency_patch"] = json!({"x": 2});
        },
        "65e8925808",
    ),
];

#[test]
fn fifty_revisions_are_what_they_have_always_been() {
    let now = PINS.map(|(edit, _)| revision_of(edit));
    assert_eq!(now, PINS.map(|(_, pinned)| pinned));
}

#[test]
fn the_revision_of_a_deployment_is_the_digest_of_its_template_and_of_all_of_it() {
    let of = |template: Value| of_template(template.as_object().expect("an object"));
    // printf '{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"image":"i:1","name":"c"}]}}' | sha256sum
    let template =
        json!({"spec": {"containers": [{"name": "c", "image": "i:1"}]}, "metadata": {"labels": {"app": "a"}}});
    assert_eq!(
        of(template),
        "d1becd612e646464fc6e9bfcf3f6e264ba208cea33cd059eae9ba1c02f463d54"
    );
    let with_news = json!({"spec": {"containers": [{"name": "c", "image": "i:1"}], "field of tomorrow": 1}});
    assert_ne!(
        of(with_news),
        of(json!({"spec": {"containers": [{"name": "c", "image": "i:1"}]}}))
    );
}
