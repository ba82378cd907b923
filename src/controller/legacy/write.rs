//! Writes to what an earlier run of a pipeline left. Each carries the uid, and each change the resourceVersion, of what it
//! means. Must never create anything.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, PodTemplateSpec};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde::Serialize;

use super::super::context::Context;
use super::super::errors::{Class, Failure};
use super::super::gather::View;
use crate::api::StreamingPipeline;
use crate::api::meta::{
    ANNOTATION_LEGACY_CLAIMED, ANNOTATION_LEGACY_OWNER_NAME, ANNOTATION_LEGACY_REPLICAS, ANNOTATION_LEGACY_SET_BACK,
    ANNOTATION_OWNER_NAME, ANNOTATION_OWNER_NAMESPACE, FIELD_MANAGER_LEGACY, LABEL_LEGACY_OWNER_UID, LABEL_OWNER_UID,
};
use crate::client::only;
use crate::core::observed::legacy::{POD_TEMPLATE_HASH, is_mark};
use crate::core::plan::{ActionResult, ClaimLegacy, ScaleLegacy, SetBackLegacy};

/// What is written to an object: only these fields, and only to this very version of it.
#[derive(Debug, Serialize)]
struct Change<'a> {
    metadata: MetadataChange<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<SpecChange>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MetadataChange<'a> {
    uid: Option<&'a str>,
    resource_version: Option<&'a str>,
    /// `None`: taken off.
    annotations: BTreeMap<&'a str, Option<String>>,
    /// The same.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<&'a str, Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizers: Option<Vec<&'a String>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SpecChange {
    Number { replicas: usize },
    Template { paused: bool, template: Box<WholeTemplate> },
}

/// A Pod template that takes the place of the one that is there, in a strategic merge patch (k8s.io/apimachinery
/// pkg/util/strategicpatch: `$patch: replace`).
#[derive(Debug, Serialize)]
struct WholeTemplate {
    #[serde(rename = "$patch")]
    directive: &'static str,
    #[serde(flatten)]
    template: PodTemplateSpec,
}

/// Notes on a Deployment that it is left to this operator. What the Python operator would write again goes: of its releases
/// of today an annotation, of earlier ones the label, which becomes that of today. The pipeline's name stays under our own
/// keys.
pub(in crate::controller) async fn claim(ctx: &Context, view: &View, claim: &ClaimLegacy) -> ActionResult {
    let again = if claim.again { " again" } else { "" };
    let annotations = [
        (ANNOTATION_LEGACY_REPLICAS, Some(claim.replicas.to_string())),
        (ANNOTATION_LEGACY_CLAIMED, Some(format!("{}{again}", claim.at))),
        (ANNOTATION_LEGACY_OWNER_NAME, None),
        // Whoever applied it again, applied another template.
        (ANNOTATION_LEGACY_SET_BACK, None),
        (ANNOTATION_OWNER_NAME, Some(view.pipeline.name.clone())),
        (ANNOTATION_OWNER_NAMESPACE, Some(view.pipeline.namespace.clone())),
    ];
    let change = Change {
        metadata: MetadataChange {
            uid: Some(&claim.uid),
            resource_version: Some(&claim.resource_version),
            annotations: annotations.into(),
            labels: [
                (LABEL_OWNER_UID, None),
                (LABEL_LEGACY_OWNER_UID, Some(view.pipeline.uid.as_str())),
            ]
            .into(),
            finalizers: None,
        },
        spec: None,
    };
    let what = format!("claim Deployment {}/{}", claim.namespace, claim.name);
    change_deployment(ctx, &what, &claim.namespace, &claim.name, &change).await
}

/// Takes consumers off a Deployment, if it is as it was when that was decided.
pub(in crate::controller) async fn scale(ctx: &Context, scale: &ScaleLegacy) -> ActionResult {
    let change = Change {
        metadata: MetadataChange {
            uid: Some(&scale.uid),
            resource_version: Some(&scale.resource_version),
            annotations: [(ANNOTATION_LEGACY_REPLICAS, Some(scale.to.to_string()))].into(),
            labels: BTreeMap::new(),
            finalizers: None,
        },
        spec: Some(SpecChange::Number { replicas: scale.to }),
    };
    let what = format!("scale Deployment {}/{} to {}", scale.namespace, scale.name, scale.to);
    change_deployment(ctx, &what, &scale.namespace, &scale.name, &change).await
}

/// Gives a Deployment the Pod template of one of its `ReplicaSet`s, as `kubectl rollout undo` does, if it is as it was when
/// that was decided. A paused one would not get there.
pub(in crate::controller) async fn set_back(ctx: &Context, back: &SetBackLegacy) -> ActionResult {
    let SetBackLegacy { namespace, name, .. } = back;
    let what = format!("set Deployment {namespace}/{name} back to ReplicaSet {}", back.to);
    let sets = Api::<ReplicaSet>::namespaced(ctx.client.clone(), namespace);
    // The Role lets nobody read one by its name.
    let params = ListParams::default().fields(&format!("metadata.name={}", back.to));
    let found = match ctx.ask(&what, sets.list(&params)).await {
        Ok(found) => found.items.into_iter().next(),
        Err(failure) => return result::<()>(Err(failure)),
    };
    let Some(mut template) = found.and_then(|set| set.spec?.template) else {
        return ActionResult::Skipped;
    };
    if let Some(labels) = template.metadata.as_mut().and_then(|metadata| metadata.labels.as_mut()) {
        labels.remove(POD_TEMPLATE_HASH);
    }
    let change = Change {
        metadata: MetadataChange {
            uid: Some(&back.uid),
            resource_version: Some(&back.resource_version),
            annotations: [(ANNOTATION_LEGACY_SET_BACK, Some(back.at.to_string()))].into(),
            labels: BTreeMap::new(),
            finalizers: None,
        },
        spec: Some(SpecChange::Template {
            paused: false,
            template: Box::new(WholeTemplate {
                directive: "replace",
                template,
            }),
        }),
    };
    let deployments = Api::<Deployment>::namespaced(ctx.client.clone(), namespace);
    let (params, patch) = (params_of_changes(), Patch::Strategic(&change));
    let patched = deployments.patch(name, &params, &patch);
    result(ctx.ask(&what, patched).await)
}

fn params_of_changes() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER_LEGACY.to_owned()),
        ..PatchParams::default()
    }
}

async fn change_deployment(
    ctx: &Context,
    what: &str,
    namespace: &str,
    name: &str,
    change: &Change<'_>,
) -> ActionResult {
    let api = Api::<Deployment>::namespaced(ctx.client.clone(), namespace);
    result(
        ctx.ask(what, api.patch(name, &params_of_changes(), &Patch::Merge(change)))
            .await,
    )
}

/// Deletes a Deployment; it stays until the garbage collector has removed its Pods.
pub(in crate::controller) async fn delete_deployment(
    ctx: &Context,
    namespace: &str,
    name: &str,
    uid: &str,
) -> ActionResult {
    let api = Api::<Deployment>::namespaced(ctx.client.clone(), namespace);
    let what = format!("delete Deployment {namespace}/{name}");
    let params = only(DeleteParams::foreground(), uid);
    result(ctx.ask(&what, api.delete(name, &params)).await)
}

/// Deletes a ConfigMap.
pub(in crate::controller) async fn delete_config_map(
    ctx: &Context,
    namespace: &str,
    name: &str,
    uid: &str,
) -> ActionResult {
    let api = Api::<ConfigMap>::namespaced(ctx.client.clone(), namespace);
    let what = format!("delete ConfigMap {namespace}/{name}");
    let params = only(DeleteParams::default(), uid);
    result(ctx.ask(&what, api.delete(name, &params)).await)
}

/// What came of a write: what is gone needs nothing, and what changed meanwhile the next pass reads again.
fn result<T>(answer: Result<T, Failure>) -> ActionResult {
    match answer {
        Ok(_) => ActionResult::Done,
        Err(failure) => match failure.class() {
            Class::NotFound => ActionResult::AlreadyOurs,
            Class::Conflict => ActionResult::Skipped,
            _ => failure.as_result(),
        },
    }
}

/// Takes the finalizers and annotations of the Python operator off the pipeline.
pub(in crate::controller) async fn remove_marks(ctx: &Context, view: &View) -> ActionResult {
    let metadata = &view.stored.metadata;
    let kept = metadata.finalizers.iter().flatten().filter(|name| !is_mark(name));
    let annotations = metadata.annotations.iter().flatten().map(|(name, _)| name.as_str());
    let change = Change {
        metadata: MetadataChange {
            uid: metadata.uid.as_deref(),
            resource_version: metadata.resource_version.as_deref(),
            annotations: annotations
                .filter(|name| is_mark(name))
                .map(|name| (name, None))
                .collect(),
            labels: BTreeMap::new(),
            finalizers: Some(kept.collect()),
        },
        spec: None,
    };
    let api = Api::<StreamingPipeline>::namespaced(ctx.client.clone(), &view.pipeline.namespace);
    let what = "take the finalizers and annotations of the Python operator off the pipeline";
    let (params, patch) = (PatchParams::default(), Patch::Merge(&change));
    let patched = api.patch_metadata(&view.pipeline.name, &params, &patch);
    result(ctx.ask(what, patched).await)
}
