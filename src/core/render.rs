//! From a valid pipeline to what is created for it.
//!
//! Must never depend on the number of replicas, and never give a Pod an identity that it was not asked for.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::streaming_pipeline::OpenObject;

use super::compose::{CONFIG_VOLUME, Composition, canary_of};
use super::names::{BaseName, Generation, Ordinal, Revision, WorkloadSet};
use super::valid::ValidPipeline;

/// What is created for a revision of a pipeline. Never depends on `replicas`, `with_canary`, `rollout` or `suspend`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The ConfigMap that the Pods of this revision mount.
    pub config: ConfigMapContent,
    /// The primary set.
    pub primary: SetTemplate,
    /// The canary set; rendered also when no canary is wanted. `None` only when none is wanted and its name or template
    /// would be invalid (the name is 7 characters longer than the primary's).
    pub canary: Option<SetTemplate>,
}

/// Content of the immutable ConfigMap of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapContent {
    /// `{service}-pipeline-{pipeline}-{segment}-{first ten hex digits of version}`.
    pub name: String,
    /// The labels that the pipeline gives it; identity labels are the creator's business.
    pub labels: BTreeMap<String, String>,
    /// Value of the key [`CONFIG_KEY`].
    pub text: String,
    /// MD5 of the text, 32 hex digits: `configVersion`.
    pub version: String,
}

/// The key of the config in its ConfigMap.
pub const CONFIG_KEY: &str = "pipeline_config.yaml";

/// The Pod template of one set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetTemplate {
    /// What the set's Pods are named with.
    pub base: BaseName,
    /// `{metadata: {labels, annotations}, spec}`; without the identity of any Pod.
    pub template: OpenObject,
}

impl Rendered {
    /// The template of `set`.
    #[must_use]
    pub const fn set(&self, set: WorkloadSet) -> Option<&SetTemplate> {
        match set {
            WorkloadSet::Primary => Some(&self.primary),
            WorkloadSet::Canary => self.canary.as_ref(),
        }
    }
}

/// The pipeline that a Pod belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Namespace of the pipeline.
    pub namespace: String,
    /// Name of the pipeline.
    pub name: String,
    /// Uid of the pipeline.
    pub uid: String,
}

/// Which Pod is made of a template.
#[derive(Clone, Copy, Debug)]
pub struct PodIdentity<'a> {
    /// What the Pod's name begins with.
    pub base: &'a BaseName,
    /// Its set.
    pub set: WorkloadSet,
    /// Its place in the set.
    pub ordinal: Ordinal,
    /// Which Pod of that place it is.
    pub generation: Generation,
    /// The revision that the template belongs to.
    pub revision: &'a Revision,
    /// The pipeline.
    pub owner: &'a Owner,
    /// The namespace the Pod is created in. An ownerReference is set only when it is the owner's.
    pub namespace: &'a str,
    /// How many failures in a row led to this Pod.
    pub failures: u32,
    /// Whether the consumer gets a Kafka group instance id (policy `Failed`: an ordinal has one live Pod at most).
    pub static_membership: bool,
}

/// What is created for a valid pipeline: the same bytes for the same spec, whatever `replicas` and `with_canary` say. It
/// was rendered when the pipeline was checked; this is a copy of [`ValidPipeline::rendered`].
#[must_use]
pub fn render(pipeline: &ValidPipeline) -> Rendered {
    pipeline.rendered().clone()
}

/// What a composition without faults renders to; with the canary set when that is at no fault either. `patch` is the
/// emergency patch that was composed.
pub(super) fn of_composition(
    composition: Composition,
    primary: BaseName,
    patch: Option<&OpenObject>,
    has_canary: bool,
) -> Rendered {
    let canary = BaseName::parse(&composition.canary_base).filter(|_| has_canary);
    let canary = canary.map(|base| SetTemplate {
        base,
        template: canary_of(&composition.primary, patch),
    });
    Rendered {
        config: ConfigMapContent {
            name: composition.config_name,
            labels: composition.labels,
            text: composition.config_text,
            version: composition.config_version,
        },
        primary: SetTemplate {
            base: primary,
            template: composition.primary,
        },
        canary,
    }
}

/// The immutable ConfigMap of a revision, in the namespace of the Pods, labelled and annotated as ours.
#[must_use]
pub fn config_map(content: &ConfigMapContent, owner: &Owner, revision: &Revision, namespace: &str) -> ConfigMap {
    let mut labels = content.labels.clone();
    for (key, value) in [
        (meta::LABEL_MANAGED_BY, meta::MANAGED_BY_VALUE.to_owned()),
        (meta::LABEL_OWNER_UID, owner.uid.clone()),
        (meta::LABEL_REVISION, revision.to_string()),
    ] {
        labels.insert(key.to_owned(), value);
    }
    let annotations = BTreeMap::from([
        (meta::ANNOTATION_OWNER_NAME.to_owned(), owner.name.clone()),
        (meta::ANNOTATION_OWNER_NAMESPACE.to_owned(), owner.namespace.clone()),
    ]);
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(content.name.clone()),
            namespace: Some(namespace.to_owned()),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: (owner.namespace == namespace).then(|| vec![owner_reference(owner)]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(CONFIG_KEY.to_owned(), content.text.clone())])),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// The Pod of `identity`, made of a set's template (as rendered, or as stored with a revision): named, labelled and
/// annotated as ours, with an ownerReference when it lives beside its owner, and with the ordinal in the environment of
/// its consumer.
///
/// The consumer is each container that mounts the volume of the config; a patch may have renamed anything else. When
/// none does (a patch moved the mount), every container is given the environment, which harms none.
#[must_use]
pub fn pod_from_template(template: &OpenObject, identity: &PodIdentity<'_>) -> Value {
    let mut metadata = section(template, "metadata");
    let name = format!("{}-{}-{}", identity.base, identity.ordinal, identity.generation);
    metadata.insert("name".to_owned(), json!(name));
    metadata.insert("namespace".to_owned(), json!(identity.namespace));
    metadata.insert("labels".to_owned(), Value::Object(labels(&metadata, identity)));
    metadata.insert(
        "annotations".to_owned(),
        Value::Object(annotations(&metadata, identity)),
    );
    if identity.owner.namespace == identity.namespace {
        metadata.insert("ownerReferences".to_owned(), json!([owner_reference(identity.owner)]));
    }
    let mut spec = section(template, "spec");
    if let Some(Value::Array(containers)) = spec.get_mut("containers") {
        set_environment(containers, identity);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn labels(template: &OpenObject, identity: &PodIdentity<'_>) -> OpenObject {
    let mut labels = section(template, "labels");
    for (key, value) in [
        (meta::LABEL_MANAGED_BY, meta::MANAGED_BY_VALUE.to_owned()),
        (meta::LABEL_OWNER_UID, identity.owner.uid.clone()),
        (meta::LABEL_WORKLOAD_SET, identity.set.to_string()),
        (meta::LABEL_ORDINAL, identity.ordinal.to_string()),
        (meta::LABEL_GENERATION, identity.generation.to_string()),
        (meta::LABEL_REVISION, identity.revision.to_string()),
    ] {
        labels.insert(key.to_owned(), Value::String(value));
    }
    labels
}

fn annotations(template: &OpenObject, identity: &PodIdentity<'_>) -> OpenObject {
    let mut annotations = section(template, "annotations");
    annotations
        .entry(meta::ANNOTATION_SAFE_TO_EVICT)
        .or_insert_with(|| json!("true"));
    for (key, value) in [
        (meta::ANNOTATION_OWNER_NAME, identity.owner.name.clone()),
        (meta::ANNOTATION_OWNER_NAMESPACE, identity.owner.namespace.clone()),
        (meta::ANNOTATION_FAILURES, identity.failures.to_string()),
    ] {
        annotations.insert(key.to_owned(), Value::String(value));
    }
    annotations
}

fn owner_reference(owner: &Owner) -> OwnerReference {
    OwnerReference {
        api_version: meta::API_VERSION.to_owned(),
        kind: meta::KIND.to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Tells the consumer which Pod it is, by variables that it does not set itself.
fn set_environment(containers: &mut [Value], identity: &PodIdentity<'_>) {
    let any_consumer = containers.iter().any(mounts_config);
    let mut variables = vec![
        ("STREAMS_POD_ORDINAL", identity.ordinal.to_string()),
        ("STREAMS_WORKLOAD_SET", identity.set.to_string()),
    ];
    if identity.static_membership {
        let member = format!("{}-{}", identity.base, identity.ordinal);
        variables.push(("STREAMS_KAFKA_GROUP_INSTANCE_ID", member));
    }
    for container in containers {
        if any_consumer && !mounts_config(container) {
            continue;
        }
        let Value::Object(container) = container else { continue };
        let environment = container.entry("env").or_insert_with(|| json!([]));
        if environment.is_null() {
            *environment = json!([]);
        }
        let Value::Array(environment) = environment else {
            continue;
        };
        for (name, value) in &variables {
            let is_set = environment
                .iter()
                .any(|variable| variable.get("name").and_then(Value::as_str) == Some(name));
            if !is_set {
                environment.push(json!({"name": name, "value": value}));
            }
        }
    }
}

fn mounts_config(container: &Value) -> bool {
    let mounts = container.get("volumeMounts").and_then(Value::as_array);
    mounts
        .into_iter()
        .flatten()
        .any(|mount| mount.get("name").and_then(Value::as_str) == Some(CONFIG_VOLUME))
}

fn section(object: &OpenObject, field: &str) -> OpenObject {
    object
        .get(field)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
