//! What is rendered does not depend on what may change without a word, and a Pod is told who it is.

use super::*;

fn valid(edit: impl FnOnce(&mut Value)) -> ValidPipeline {
    let mut spec = json!({
        "service_name": "svc", "pipeline_name": "pipe", "pipeline_module": "pkg.mod", "image_name": "app:1",
        "cpu_per_process": 100, "memory_per_process": 256, "deployment_template": {}, "container_template": {},
        "pipeline_config": {"pipeline": {"segments": []}},
    });
    edit(&mut spec);
    let spec = serde_json::from_value(spec).expect("a spec");
    ValidPipeline::parse("object", &spec).expect("a valid pipeline")
}

fn pod(pipeline: &ValidPipeline, static_membership: bool, namespace: &str) -> Value {
    let rendered = render(pipeline);
    let owner = Owner {
        namespace: "ns".to_owned(),
        name: "object".to_owned(),
        uid: "uid-1".to_owned(),
    };
    let identity = PodIdentity {
        base: &rendered.primary.base,
        set: WorkloadSet::Primary,
        ordinal: Ordinal::new(3).expect("an ordinal"),
        generation: Generation::new(7).expect("a generation"),
        revision: pipeline.revision(),
        owner: &owner,
        namespace,
        failures: 2,
        static_membership,
    };
    pod_from_template(&rendered.primary.template, &identity)
}

#[test]
fn a_config_map_is_named_after_the_primary_set_and_its_text() {
    let config = render(&valid(|spec| spec["segment_id"] = json!(2))).config;
    assert_eq!(config.name, "svc-pipeline-pipe-2-d07b973b71");
    assert_eq!(config.version, "d07b973b7148e278af199581f6405070");
    assert_eq!(config.text, r#"{"pipeline": {"segments": []}}"#);
    let labels = [("pipeline", "pipe"), ("pipeline-app", "pkg-mod"), ("service", "svc")];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(config.labels, BTreeMap::from(labels));
}

#[test]
fn nothing_that_is_rendered_depends_on_how_many_pods_there_are() {
    let plain = valid(|_| ());
    let scaled = valid(|spec| {
        spec["replicas"] = json!(12);
        spec["with_canary"] = json!(true);
        spec["suspend"] = json!(true);
    });
    assert_eq!(render(&plain), render(&scaled));
    assert_eq!(plain.revision(), scaled.revision());
}

#[test]
fn the_sets_differ_in_their_name_and_in_one_label() {
    let rendered = render(&valid(|_| ()));
    let canary = rendered.canary.expect("a canary");
    assert_eq!(rendered.primary.base.as_str(), "svc-pipeline-pipe-0");
    assert_eq!(canary.base.as_str(), "svc-pipeline-pipe-0-canary");
    let mut template = Value::Object(rendered.primary.template);
    assert_eq!(template["metadata"]["labels"]["env"], "primary");
    template["metadata"]["labels"]["env"] = json!("canary");
    assert_eq!(template, Value::Object(canary.template));
}

#[test]
fn there_is_no_canary_when_its_name_would_be_too_long_and_none_is_wanted() {
    let pipeline = valid(|spec| spec["pipeline_name"] = json!("p".repeat(39)));
    assert_eq!(pipeline.primary_base().as_str().len(), 54);
    assert_eq!(pipeline.base(WorkloadSet::Canary), None);
    assert_eq!(render(&pipeline).canary, None);
}

#[test]
fn counts_are_what_the_spec_asks_for() {
    let counts = |replicas: i64, canary: bool, suspend: bool| {
        let counts = valid(|spec| {
            spec["replicas"] = json!(replicas);
            spec["with_canary"] = json!(canary);
            spec["suspend"] = json!(suspend);
        })
        .counts();
        (counts.primary, counts.canary)
    };
    assert_eq!(counts(3, false, false), (3, 0));
    assert_eq!(counts(3, true, false), (2, 1));
    assert_eq!(counts(1, true, false), (1, 0));
    assert_eq!(counts(0, true, false), (0, 0));
    assert_eq!(counts(3, true, true), (0, 0));
}

#[test]
fn a_pod_is_named_labelled_and_annotated_as_ours() {
    let pipeline = valid(|_| ());
    let pod = pod(&pipeline, false, "ns");
    let metadata = &pod["metadata"];
    assert_eq!((&pod["apiVersion"], &pod["kind"]), (&json!("v1"), &json!("Pod")));
    assert_eq!(metadata["name"], "svc-pipeline-pipe-0-3-7");
    assert_eq!(metadata["namespace"], "ns");
    assert_eq!(
        metadata["labels"],
        json!({
            "pipeline-app": "pkg-mod", "pipeline": "pipe", "service": "svc", "env": "primary",
            "streams.sentry.io/managed-by": "streaming-operator",
            "streams.sentry.io/owner-uid": "uid-1",
            "streams.sentry.io/workload-set": "primary",
            "streams.sentry.io/ordinal": "3",
            "streams.sentry.io/generation": "7",
            "streams.sentry.io/revision": pipeline.revision().as_str(),
        })
    );
    assert_eq!(
        metadata["annotations"],
        json!({
            "configVersion": "d07b973b7148e278af199581f6405070",
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
            "streams.sentry.io/owner-name": "object",
            "streams.sentry.io/owner-namespace": "ns",
            "streams.sentry.io/failures": "2",
        })
    );
    assert_eq!(pod["spec"]["restartPolicy"], "Never");
}

#[test]
fn a_pod_refers_to_its_owner_only_beside_it() {
    let pipeline = valid(|_| ());
    assert_eq!(
        pod(&pipeline, false, "ns")["metadata"]["ownerReferences"],
        json!([{"apiVersion": "streams.sentry.io/v1alpha1", "kind": "StreamingPipeline", "name": "object",
                "uid": "uid-1", "controller": true, "blockOwnerDeletion": true}])
    );
    let elsewhere = pod(&pipeline, false, "work");
    assert_eq!(elsewhere["metadata"].get("ownerReferences"), None);
    assert_eq!(elsewhere["metadata"]["namespace"], "work");
}

#[test]
fn the_consumer_is_told_which_pod_it_is_and_sidecars_are_not() {
    let pipeline = valid(|spec| {
        let sidecar = json!([{"name": "sidecar", "image": "i:1"}]);
        spec["deployment_template"] = json!({"spec": {"template": {"spec": {"containers": sidecar}}}});
        spec["container_template"] = json!({"env": [{"name": "REGION", "value": "eu"}]});
    });
    let pod = pod(&pipeline, true, "ns");
    let containers = &pod["spec"]["containers"];
    assert_eq!(containers[0].get("env"), None);
    assert_eq!(
        containers[1]["env"],
        json!([
            {"name": "REGION", "value": "eu"},
            {"name": "STREAMS_POD_ORDINAL", "value": "3"},
            {"name": "STREAMS_WORKLOAD_SET", "value": "primary"},
            {"name": "STREAMS_KAFKA_GROUP_INSTANCE_ID", "value": "svc-pipeline-pipe-0-3"},
        ])
    );
}

#[test]
fn what_a_template_sets_itself_is_kept() {
    let own = json!([{"name": "STREAMS_POD_ORDINAL", "value": "x"}]);
    let pipeline = valid(|spec| {
        spec["container_template"] = json!({"env": own});
        let annotations = json!({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"});
        spec["deployment_template"] = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    });
    let pod = pod(&pipeline, false, "ns");
    assert_eq!(
        pod["spec"]["containers"][0]["env"],
        json!([{"name": "STREAMS_POD_ORDINAL", "value": "x"}, {"name": "STREAMS_WORKLOAD_SET", "value": "primary"}])
    );
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"], "false");
}

#[test]
fn every_container_is_told_when_a_patch_moved_the_mount_of_the_config() {
    let pipeline = valid(|spec| {
        let moved = json!([{"name": "other", "mountPath": "/etc/pipeline-config"}]);
        let container = json!([{"name": "pipeline-consumer", "volumeMounts": moved}]);
        spec["emergency_patch"] = json!({"spec": {"template": {"spec": {"containers": container}}}});
    });
    let pod = pod(&pipeline, false, "ns");
    assert_eq!(pod["spec"]["containers"][0]["env"][0]["name"], "STREAMS_POD_ORDINAL");
}

#[test]
fn an_emergency_image_replaces_the_image_of_the_consumer() {
    let rendered = render(&valid(|spec| {
        let container = json!([{"name": "pipeline-consumer", "image": "app:fixed"}]);
        spec["emergency_patch"] = json!({"spec": {"template": {"spec": {"containers": container}}}});
    }));
    for set in WorkloadSet::ALL {
        let template = &rendered.set(set).expect("a set").template;
        let containers = template["spec"]["containers"].as_array().expect("containers");
        assert_eq!(containers.len(), 1);
        assert_eq!(containers[0]["image"], "app:fixed");
    }
}

#[test]
fn the_config_map_is_immutable_and_ours() {
    let pipeline = valid(|_| ());
    let owner = Owner {
        namespace: "ns".to_owned(),
        name: "object".to_owned(),
        uid: "uid-1".to_owned(),
    };
    let made = config_map(&render(&pipeline).config, &owner, pipeline.revision(), "work");
    assert_eq!(
        json!(made),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
            "metadata": {
                "name": "svc-pipeline-pipe-0-d07b973b71", "namespace": "work",
                "labels": {
                    "pipeline-app": "pkg-mod", "pipeline": "pipe", "service": "svc",
                    "streams.sentry.io/managed-by": "streaming-operator",
                    "streams.sentry.io/owner-uid": "uid-1",
                    "streams.sentry.io/revision": pipeline.revision().as_str(),
                },
                "annotations": {
                    "streams.sentry.io/owner-name": "object",
                    "streams.sentry.io/owner-namespace": "ns",
                },
            },
            "data": {"pipeline_config.yaml": r#"{"pipeline": {"segments": []}}"#},
        })
    );
}
