//! The table of rules: what each is called, what it says, and which function finds its faults.
//!
//! Must never have a message that the function does not say, nor lack one: the tests compare with what is said of the
//! manifests in `tests/fixtures/rules`. `docs/rules.md` is printed from here.

use super::{Subject, fields, pipeline_config, pod, quantities, reading, rendered, segments, sizes, templates};
use crate::api::streaming_pipeline::{PIPELINE_NAME_IMMUTABLE, SEGMENT_ID_IMMUTABLE, SERVICE_NAME_IMMUTABLE};
use crate::core::violation::Finding;

/// A rule: its name, by which a fault is found again, and what it finds.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name; an API, as `rule` of the output of `validate`.
    pub name: &'static str,
    /// What it asks for, a sentence.
    pub asks: &'static str,
    /// Everything it says of a fault; what stands in braces depends on the object.
    pub messages: &'static [&'static str],
    /// A pipeline's `spec` that it refuses, as far as it matters: YAML.
    pub example: &'static str,
    /// Finds its faults.
    pub(super) check: fn(&Subject<'_>) -> Vec<Finding>,
}

/// Every rule, in the order in which faults are told.
pub const RULES: &[Rule] = &[
    Rule {
        name: "field-types",
        asks: "Every field has the type that the API gives it.",
        messages: &[
            "must be {type}",
            "is {value}, must be {type}",
            "is null, must be {type}, or be left out",
        ],
        example: "replicas: three",
        check: reading::types,
    },
    Rule {
        name: "required-fields",
        asks: "Every required field is there.",
        messages: &[
            "must be set",
            "must be set when the name of the object is not known yet (generateName)",
        ],
        example: "# without image_name\nservice_name: metrics",
        check: reading::required,
    },
    Rule {
        name: "field-lengths",
        asks: "Texts are not empty, and not longer than the API allows, in characters.",
        messages: &[
            "must not be empty",
            "has {length} characters, at most {max} are allowed",
        ],
        example: "pipeline_module: \"\"",
        check: fields::lengths,
    },
    Rule {
        name: "field-ranges",
        asks: "Numbers are in their range.",
        messages: &[
            "is {value}, must be from {min} to {max}",
            "is {value}, must be at least {min}",
        ],
        example: "replicas: 1000",
        check: fields::ranges,
    },
    Rule {
        name: "rollout",
        asks: "`maxUnavailable` is a number of at least 1 or a percentage, `restartAt` is a time.",
        messages: &[
            "must be an integer of at least 1, or a percentage from 1% to 100%",
            "must be a time as in RFC 3339, such as 2025-01-31T12:00:00Z",
        ],
        example: "rollout: {maxUnavailable: 0%}",
        check: fields::rollout,
    },
    Rule {
        name: "immutable-fields",
        asks: "`service_name`, `pipeline_name` and `segment_id` stay as they are.",
        messages: &[SERVICE_NAME_IMMUTABLE, SEGMENT_ID_IMMUTABLE, PIPELINE_NAME_IMMUTABLE],
        example: "# of a pipeline that is stored with another one\nservice_name: other",
        check: fields::immutable,
    },
    Rule {
        name: "pipeline-config",
        asks: "`pipeline_config` is as sentry-streams reads it (its JSON schema).",
        messages: &[
            "must be set",
            "must be an object",
            "must be a list",
            "must be a string",
            "must be true or false",
            "must be an integer",
            "must be a number",
            "must be at least {min}",
            "must not be empty",
            "must be one of datadog, log, dummy",
        ],
        example: "pipeline_config: {pipeline: {segments: [{steps_config: {parse: {dlq: {topic: failed}}}}]}}",
        check: pipeline_config::schema,
    },
    Rule {
        name: "segment-id",
        asks: "The segment that the Pods run is in the config. An empty list of segments says nothing of them and is not judged.",
        messages: &["is {value}, and pipeline_config has segments 0 to {last}: the consumer would end at its start"],
        example: "segment_id: 1\npipeline_config: {pipeline: {segments: [{steps_config: {parse: {}}}]}}",
        check: segments::segment_id,
    },
    Rule {
        name: "multi-process",
        asks: "Numbers of processes are numbers, and one segment at most has them.",
        messages: &[
            "has a multi-process step, and so has segment {other}: only one segment of a pipeline may have one",
            "must be an object with the field processes",
            "must be an integer",
            "must be a whole number of at most 64 bits",
            "must not be negative: the requests would be",
        ],
        example: "pipeline_config:\n  pipeline:\n    segments:\n    - steps_config: {parse: {parallelism: {multi_process: {processes: many}}}}",
        check: segments::multi_process,
    },
    Rule {
        name: "liveness-probe",
        asks: "The consumer has one liveness probe: the operator's or the template's.",
        messages: &[
            "must not be set while enable_liveness_probe is true, which sets it: leave it out, or turn that off",
        ],
        example: "enable_liveness_probe: true\ncontainer_template: {livenessProbe: {periodSeconds: 5}}",
        check: templates::liveness_probe,
    },
    Rule {
        name: "template-merge",
        asks: "The templates and the emergency patch can be merged with what the operator sets.",
        messages: &[
            "is {type}, and the operator sets {type} here: the two cannot be merged",
            "is {value}, and the operator sets {value} here: leave it out",
            "is {type}, and what it is merged into is {type}: the two cannot be merged",
        ],
        example: "container_template: {resources: {requests: {cpu: 2}}}",
        check: templates::merges,
    },
    Rule {
        name: "emergency-patch-name",
        asks: "The emergency patch renames nothing.",
        messages: &["must not be set: it would give the Pods of both sets one name"],
        example: "emergency_patch: {metadata: {name: other}}",
        check: templates::emergency_patch_name,
    },
    Rule {
        name: "rendered-names",
        asks: "No part of a name is empty, and the names of Pods leave room for ordinal and generation.",
        messages: &[
            "must have a letter or digit of a-z, 0-9: nothing of it can stand in a name",
            "makes the name {name} of {length} characters, at most 54 leave room for ordinal and generation",
        ],
        example: "service_name: ___",
        check: rendered::names,
    },
    Rule {
        name: "rendered-labels",
        asks: "Labels and annotations of the Pods are such that the API server takes them.",
        messages: &[
            "makes a label of {length} characters, at most 63 are allowed",
            "is no key of a label: an optional DNS name and /, then 1 to 63 of A-Z, a-z, 0-9, -, _ and .",
            "is no value of a label: at most 63 of A-Z, a-z, 0-9, -, _ and ., the first and last alphanumeric",
        ],
        example: "deployment_template: {spec: {template: {metadata: {labels: {team: data platform}}}}}",
        check: rendered::labels,
    },
    Rule {
        name: "container-names",
        asks: "Containers and volumes are named with DNS labels.",
        messages: &["{name} is no name of a container or volume: 1 to 63 of a-z, 0-9 and -"],
        example: "container_name: A_b",
        check: rendered::element_names,
    },
    Rule {
        name: "duplicates",
        asks: "Names of containers and of volumes, and the paths of a container's mounts, occur once.",
        messages: &[
            "another container of the Pod is named {name}: choose another name",
            "another volume of the Pod is named {name}: choose another name",
            "another volume is mounted at {path} in the container: choose another path",
        ],
        example: "container_template: {volumeMounts: [{name: scratch, mountPath: /tmp}]}",
        check: rendered::duplicates,
    },
    Rule {
        name: "quantities",
        asks: "Requests and limits are quantities, not negative, and small enough for one.",
        messages: &[
            "{value} is no quantity, such as 500m, 2, 1.5Gi or 1e3",
            "{value} is negative",
            "times {processes} processes is more than a quantity can hold",
        ],
        example: "container_template: {resources: {limits: {cpu: 2 cores}}}",
        check: quantities::quantities,
    },
    Rule {
        name: "pod-types",
        asks: "Every part of the rendered Pod has the type that Kubernetes gives it.",
        messages: &["is {value}, must be {type}", "must be {type}"],
        example: "container_template: {env: [{name: PORT, value: 80}]}",
        check: pod::types,
    },
    Rule {
        name: "nesting",
        asks: "What may hold anything is not nested deeper than readers of JSON go.",
        messages: &["is nested {levels} levels deep, at most 64 are allowed"],
        example: "# and 62 lists more within\npipeline_config: {mine: [[1]]}",
        check: sizes::nesting,
    },
    Rule {
        name: "config-size",
        asks: "The text of the config fits into its ConfigMap.",
        messages: &["has {bytes} bytes as the text in its ConfigMap, at most 524288 are allowed"],
        example: "# with more than 512 KiB\npipeline_config: {env: {TEXT: a long one}}",
        check: sizes::config,
    },
    Rule {
        name: "spec-size",
        asks: "The spec fits into etcd beside its history.",
        messages: &["has {bytes} bytes as JSON, at most 716800 are allowed"],
        example: "# with more than 700 KiB\ndeployment_template: {metadata: {annotations: {text: a long one}}}",
        check: sizes::spec,
    },
];
