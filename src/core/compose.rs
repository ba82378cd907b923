//! Puts a spec and the operator's own parts together to the Pod templates of both sets, as the Python operator composes
//! its Deployments.
//!
//! Must never depend on `replicas`, `with_canary`, `rollout` or `suspend`, and never stop at the first conflict.

mod consumer;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::api::StreamingPipelineSpec;
use crate::api::meta;
use crate::api::streaming_pipeline::OpenObject;

use super::config_text;
use super::merge::{self, Conflict, Lists, Placed, Why};
use super::multi_process::MultiProcess;
use super::names::{self, WorkloadSet};
use super::path::{At, FieldPath};
use super::violation::{FaultKind, Finding};

/// Name of the volume that holds the config, in every template.
pub(super) const CONFIG_VOLUME: &str = "pipeline-config";
/// How many hex digits of the config's version stand in the name of its ConfigMap.
const CONFIG_NAME_HASH_LENGTH: usize = 10;

/// Fields of a Deployment that have no effect on Pods which the operator manages itself, or which it always sets; what a
/// template says there is left out of the composition.
pub(super) const WITHOUT_EFFECT: [&[&str]; 11] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "namespace"],
    &["spec", "replicas"],
    &["spec", "selector"],
    &["spec", "strategy"],
    &["spec", "minReadySeconds"],
    &["spec", "progressDeadlineSeconds"],
    &["spec", "revisionHistoryLimit"],
    &["spec", "paused"],
    &["spec", "template", "spec", "restartPolicy"],
];

/// A composed pipeline, valid or not.
#[derive(Clone, Debug)]
pub(super) struct Composition {
    /// Base name of the primary set; maybe too long or malformed. Also what the names of all its ConfigMaps begin with.
    pub(super) primary_base: String,
    /// Base name of the canary set; likewise.
    pub(super) canary_base: String,
    /// The labels of the pipeline (without `env`).
    pub(super) labels: BTreeMap<String, String>,
    /// Text of the config.
    pub(super) config_text: String,
    /// Version of the config.
    pub(super) config_version: String,
    /// Name of the ConfigMap.
    pub(super) config_name: String,
    /// The Pod template of the primary set: `{metadata: {labels, annotations}, spec}`.
    pub(super) primary: OpenObject,
    /// Place of the consumer in `spec.containers` of the template, and of that of the canary set ([`canary_of`]).
    pub(super) consumer_index: usize,
    /// Where the elements of the emergency patch's lists stand in the templates; its paths begin with `spec`.
    pub(super) placed: Placed,
    /// What could not be merged.
    pub(super) findings: Vec<Finding>,
    /// What could not be merged only for the canary set.
    pub(super) canary_findings: Vec<Finding>,
}

/// Composes `spec`, whose pipeline is named `pipeline_name` (the field, or the object's name).
pub(super) fn compose(spec: &StreamingPipelineSpec, pipeline_name: &str, processes: &MultiProcess) -> Composition {
    let config_text = config_text::text(&spec.pipeline_config);
    let config_version = config_text::version(&config_text);
    let [canary_base, primary_base] = names::base_names(&spec.service_name, pipeline_name, spec.segment_id);
    let hash: String = config_version.chars().take(CONFIG_NAME_HASH_LENGTH).collect();
    let config_name = format!("{primary_base}-{hash}");
    let module = names::mangle_to(&spec.pipeline_module, names::LABEL_LENGTH_MAX);
    let labels = BTreeMap::from([
        ("pipeline-app".to_owned(), module),
        ("pipeline".to_owned(), names::mangle(pipeline_name)),
        ("service".to_owned(), names::mangle(&spec.service_name)),
    ]);
    let mut found = Found::default();
    let container = consumer::container(spec, pipeline_name, processes, &mut found);
    let volumes = consumer::volumes(spec, processes, &config_name);
    let additions = deployment_additions(&labels, &primary_base, &config_version, container, volumes);
    let template = effective(&spec.deployment_template);
    let only_canary = canary_conflicts(&template, &canary_base);
    let (deployment, consumer_index, placed) = deployment(spec, template, additions, &mut found);
    let primary = pod_template(deployment);
    Composition {
        primary_base,
        canary_base,
        labels,
        config_text,
        config_version,
        config_name,
        primary,
        consumer_index,
        placed,
        canary_findings: only_canary.without(&found),
        findings: found.findings,
    }
}

/// What the Python operator would apply for the primary set, the place of the consumer among its containers, and those of
/// the emergency patch's elements: base, template, what the operator sets, emergency patch, each over the one before.
fn deployment(
    spec: &StreamingPipelineSpec,
    template: OpenObject,
    ours: OpenObject,
    found: &mut Found,
) -> (OpenObject, usize, Placed) {
    let at = At::Key(&At::Root, "spec");
    let template_at = At::Key(&at, "deployment_template");
    found.in_template(|out| merge::conflicts(&template, &ours, &template_at, out));
    let mut deployment = base_deployment();
    found.over_ours(|out| {
        merge::merge(&mut deployment, template, Lists::Append, &template_at, out);
    });
    // Sidecars stand in front of the consumer.
    let consumer_index = containers_of(&deployment);
    found.in_template(|out| {
        merge::merge(&mut deployment, ours, Lists::Append, &template_at, out);
    });
    let mut placed = Placed::default();
    if let Some(patch) = spec.emergency_patch.as_ref().filter(|patch| !patch.is_empty()) {
        let patch_at = At::Key(&at, "emergency_patch");
        found.over_ours(|out| placed = merge::merge(&mut deployment, effective(patch), Lists::ByKey, &patch_at, out));
    }
    (deployment, consumer_index, placed)
}

/// Where the template says otherwise than the operator what only the canary set has. A value of another type conflicts
/// for the primary set as well.
fn canary_conflicts(template: &OpenObject, base: &str) -> Found {
    let env = WorkloadSet::Canary.as_str();
    let ours: [(&[&str], &str); 3] = [
        (&["metadata", "name"], base),
        (&["metadata", "labels", "env"], env),
        (&["spec", "template", "metadata", "labels", "env"], env),
    ];
    let mut found = Found::default();
    found.in_template(|out| {
        for (place, ours) in ours {
            if let Some(Value::String(theirs)) = at(template, place)
                && theirs != ours
            {
                let path = FieldPath::spec("deployment_template");
                let path = place.iter().fold(path, |path, key| path.key(key));
                let [base, over] = [theirs, ours].map(|value| text(value).to_string());
                let why = Why::Scalars { base, over };
                out.push(Conflict { path, why });
            }
        }
    });
    found
}

/// The Pod template of the canary set: that of the primary one, but for the label `env` where `patch`, the emergency
/// patch, has not set that for both.
pub(super) fn canary_of(primary: &OpenObject, patch: Option<&OpenObject>) -> OpenObject {
    let mut canary = primary.clone();
    let patched = patch.and_then(|patch| at(patch, &["spec", "template", "metadata", "labels", "env"]));
    let labels = canary
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("labels"));
    if let Some(Value::String(env)) = labels.and_then(|labels| labels.get_mut("env"))
        && !patched.is_some_and(Value::is_string)
    {
        WorkloadSet::Canary.as_str().clone_into(env);
    }
    canary
}

/// A template without the fields that have no effect.
fn effective(template: &OpenObject) -> OpenObject {
    let mut template = template.clone();
    for field in WITHOUT_EFFECT {
        remove(&mut template, field);
    }
    template
}

/// What conflicts, each path once.
#[derive(Default)]
struct Found {
    paths: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl Found {
    /// A merge of the operator's values over the user's.
    fn in_template(&mut self, merge: impl FnOnce(&mut Vec<Conflict>)) {
        self.collect(merge, |why| match why {
            Why::Types { base, over } => (
                FaultKind::TypeInvalid,
                format!("is {base}, and the operator sets {over} here: the two cannot be merged"),
            ),
            Why::Scalars { base, over } => (
                FaultKind::Forbidden,
                format!(
                    "is {}, and the operator sets {} here: leave it out",
                    shortened(&base),
                    shortened(&over)
                ),
            ),
        });
    }

    /// A merge of the user's values over what has been composed.
    fn over_ours(&mut self, merge: impl FnOnce(&mut Vec<Conflict>)) {
        self.collect(merge, |why| match why {
            Why::Types { base, over } => (
                FaultKind::TypeInvalid,
                format!("is {over}, and what it is merged into is {base}: the two cannot be merged"),
            ),
            Why::Scalars { base, over } => (
                FaultKind::Forbidden,
                format!("is {}, and must stay {}", shortened(&over), shortened(&base)),
            ),
        });
    }

    fn collect(&mut self, merge: impl FnOnce(&mut Vec<Conflict>), say: impl Fn(Why) -> (FaultKind, String)) {
        let mut conflicts = Vec::new();
        merge(&mut conflicts);
        for Conflict { path, why } in conflicts {
            if self.paths.insert(path.to_string()) {
                let (kind, message) = say(why);
                self.findings.push(Finding::of_value(path, kind, message));
            }
        }
    }

    fn without(self, others: &Self) -> Vec<Finding> {
        let mut findings = self.findings;
        findings.retain(|finding| !others.paths.contains(&finding.path.to_string()));
        findings
    }
}

/// A value for a message: long ones are cut.
fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 80;
    if text.chars().count() <= LENGTH_MAX {
        return text.to_owned();
    }
    text.chars().take(LENGTH_MAX).chain(['…']).collect()
}

fn base_deployment() -> OpenObject {
    object(json!({
        "metadata": {"labels": {}},
        "spec": {"template": {
            "metadata": {"labels": {}},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 30,
                "containers": [],
                "volumes": [],
            },
        }},
    }))
}

fn deployment_additions(
    labels: &BTreeMap<String, String>,
    base: &str,
    version: &str,
    container: OpenObject,
    volumes: Vec<Value>,
) -> OpenObject {
    let mut labels: OpenObject = labels
        .iter()
        .map(|(key, value)| (key.clone(), Value::String(value.clone())))
        .collect();
    labels.insert("env".to_owned(), text(WorkloadSet::Primary.as_str()));
    // Values are moved: `json!` would copy them.
    let pod = fields([
        ("containers", Value::Array(vec![Value::Object(container)])),
        ("volumes", Value::Array(volumes)),
    ]);
    let annotations = fields([(meta::ANNOTATION_CONFIG_VERSION, text(version))]);
    let metadata = fields([("name", text(base)), ("labels", Value::Object(labels.clone()))]);
    let of_pod = fields([("labels", Value::Object(labels)), ("annotations", annotations.into())]);
    let template = fields([("metadata", of_pod.into()), ("spec", pod.into())]);
    fields([
        ("metadata", metadata.into()),
        ("spec", fields([("template", template.into())]).into()),
    ])
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> OpenObject {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn text(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

fn texts<const N: usize>(texts: [&str; N]) -> Value {
    Value::Array(texts.map(text).into())
}

/// What stands at a path of objects, if anything does.
fn at<'v>(object: &'v OpenObject, path: &[&str]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.get(*first)?, |value, key| value.get(*key))
}

fn pod_template(mut deployment: OpenObject) -> OpenObject {
    let mut template = take_object(&mut deployment, "spec");
    let mut template = take_object(&mut template, "template");
    let mut metadata = take_object(&mut template, "metadata");
    // A Pod is made of a template's labels and annotations; its other metadata is the operator's.
    metadata.retain(|field, _| field == "labels" || field == "annotations");
    let spec = take_object(&mut template, "spec");
    OpenObject::from_iter([
        ("metadata".to_owned(), Value::Object(metadata)),
        ("spec".to_owned(), Value::Object(spec)),
    ])
}

fn containers_of(deployment: &OpenObject) -> usize {
    at(deployment, &["spec", "template", "spec", "containers"])
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

/// Removes the field at a path, if it is there.
fn remove(object: &mut OpenObject, path: &[&str]) {
    match path {
        [] => {}
        [field] => {
            object.remove(*field);
        }
        [field, rest @ ..] => {
            if let Some(Value::Object(inner)) = object.get_mut(*field) {
                remove(inner, rest);
            }
        }
    }
}

fn take_object(object: &mut OpenObject, field: &str) -> OpenObject {
    match object.remove(field) {
        Some(Value::Object(inner)) => inner,
        _ => OpenObject::new(),
    }
}

fn object(value: Value) -> OpenObject {
    match value {
        Value::Object(object) => object,
        _ => OpenObject::new(),
    }
}
