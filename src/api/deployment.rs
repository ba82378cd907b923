//! A Deployment, as far as analyses look at it. The template is kept as it is: its digest is the revision, and a field that
//! this release does not know is part of it.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::{Deserialize, Serialize};

use super::as_resource::as_resource;
use super::streaming_pipeline::OpenObject;

/// A Deployment as stored.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredDeployment {
    /// Its metadata, with managedFields.
    pub metadata: ObjectMeta,
    /// What it asks for.
    pub spec: DeploymentSpec,
    /// How it is.
    #[serde(default)]
    pub status: DeploymentStatus,
}

/// What a Deployment asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSpec {
    /// Pods wanted; 1 when it is not said.
    #[serde(default)]
    pub replicas: Option<i32>,
    /// Whether its rollout is held.
    #[serde(default)]
    pub paused: bool,
    /// Which Pods are its own.
    #[serde(default)]
    pub selector: LabelSelector,
    /// The Pod template.
    pub template: OpenObject,
}

/// How a Deployment is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    /// Generation that its controller has seen.
    #[serde(default)]
    pub observed_generation: Option<i64>,
    /// Pods of the newest template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Available Pods of all templates.
    #[serde(default)]
    pub available_replicas: i32,
}

impl StoredDeployment {
    /// Whether that field manager has `spec.paused` among its fields.
    #[must_use]
    pub fn is_paused_by(&self, manager: &str) -> bool {
        pausers(&self.metadata).any(|pauser| pauser == manager)
    }
}

/// The field managers that have `spec.paused` of a Deployment among their fields.
pub fn pausers(metadata: &ObjectMeta) -> impl Iterator<Item = &str> {
    let entries = metadata.managed_fields.iter().flatten();
    entries.filter_map(|entry| {
        let fields = entry.fields_v1.as_ref()?;
        fields.0.pointer("/f:spec/f:paused")?;
        entry.manager.as_deref()
    })
}

/// What is applied to a Deployment: that its rollout is held, or, without `spec`, nothing any more. The uid keeps the API
/// server from making one that is gone.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseApply<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: BTreeMap<&'static str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<PauseSpec>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct PauseSpec {
    paused: bool,
}

impl<'a> PauseApply<'a> {
    /// Of the Deployment of that name and uid.
    #[must_use]
    pub fn new(name: &'a str, uid: &'a str, paused: bool) -> Self {
        Self {
            api_version: "apps/v1",
            kind: "Deployment",
            metadata: [("name", name), ("uid", uid)].into(),
            spec: paused.then_some(PauseSpec { paused }),
        }
    }
}

as_resource!(StoredDeployment, Deployment);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_pauses_is_read_from_the_managed_fields() {
        let text = r#"{"metadata":{"name":"d","managedFields":[
            {"manager":"helm","operation":"Update","fieldsV1":{"f:spec":{"f:template":{}}}},
            {"manager":"streaming-operator/ra-u","operation":"Apply","fieldsV1":{"f:spec":{"f:paused":{}}}}]},
            "spec":{"paused":true,"template":{}}}"#;
        let stored: StoredDeployment = serde_json::from_str(text).expect("a Deployment");
        assert!(stored.is_paused_by("streaming-operator/ra-u"));
        assert!(!stored.is_paused_by("helm"));
        assert!(!stored.is_paused_by("streaming-operator/ra-v"));
    }

    #[test]
    fn a_pause_is_applied_with_the_uid_and_a_release_without_a_spec() {
        let text = |paused| serde_json::to_string(&PauseApply::new("d", "u", paused)).expect("JSON");
        assert_eq!(
            text(true),
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","uid":"u"},"spec":{"paused":true}}"#
        );
        assert_eq!(
            text(false),
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","uid":"u"}}"#
        );
    }
}
