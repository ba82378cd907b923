//! Creates and deletes ConfigMaps and ControllerRevisions, and keeps the finalizer of pipelines in another namespace.
//! Both kinds are immutable here: created, compared, deleted, never applied. Must never touch one that is not the
//! pipeline's, but for a predecessor's, by its uid.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ObjectMeta, PartialObjectMetaExt as _, Request};
use serde::de::DeserializeOwned;

use super::context::{Context, read};
use super::errors::{Class, Failure};
use super::gather::View;
use super::{owners, pods};
use crate::api::meta::{
    ANNOTATION_COMPLETED_AT, ANNOTATION_CONFIG_MAP, ANNOTATION_OWNER_NAME, ANNOTATION_OWNER_NAMESPACE, API_VERSION,
    FIELD_MANAGER, FINALIZER, KIND, LABEL_MANAGED_BY, LABEL_OWNER_UID, LABEL_REVISION, MANAGED_BY_VALUE,
};
use crate::api::{StoredPipeline, StreamingPipeline};
use crate::client::only;
use crate::core::names::Revision;
use crate::core::observed::PipelineFacts;
use crate::core::plan::ActionResult;
use crate::core::render::{CONFIG_KEY, ConfigMapContent, render};
use crate::core::revision::revision as revision_of;
use crate::core::stored_revision::{StoredRevision, escape_as_go_does};
use crate::core::valid::ValidPipeline;

/// Creates the ControllerRevision of the spec's revision.
pub(super) async fn create_revision(ctx: &Context, view: &View, revision: &Revision, name: &str) -> ActionResult {
    let Some(spec) = view.spec.rendered.as_ref().filter(|spec| spec.revision == *revision) else {
        return ActionResult::Unavailable {
            message: format!("the spec's revision is no longer {revision}; looks again"),
        };
    };
    let data = match spec.stored.encode() {
        Ok(data) => data,
        Err(error) => return unusable(format!("revision {revision} cannot be written as JSON: {error}")),
    };
    let mut metadata = metadata(&view.pipeline, &view.pipeline.namespace, name, revision);
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert(ANNOTATION_CONFIG_MAP.to_owned(), spec.rendered.config.name.clone());
    let object = ControllerRevision {
        metadata,
        data: Some(RawExtension(data)),
        // Grows with each edit of the spec, as the API wants it.
        revision: view.pipeline.generation.unwrap_or(1),
    };
    let api = Api::<ControllerRevision>::namespaced(ctx.client.clone(), &view.pipeline.namespace);
    let (stored, result) = match create(ctx, view, &api, "ControllerRevision", &object).await {
        Ok(()) => (Some(Arc::clone(&spec.stored)), ActionResult::Done),
        // What was stored first holds: an earlier release may have rendered it differently.
        Err(Existing::Ours(existing)) => (read(&existing), ActionResult::AlreadyOurs),
        Err(Existing::Not(result)) => return result,
    };
    let Some(stored) = stored.filter(|stored| revision_of(&stored.spec, &view.pipeline.name) == *revision) else {
        return ActionResult::NotOurs {
            holder: format!("ControllerRevision {name}, which holds another spec; delete it to have it made again"),
        };
    };
    ctx.world
        .remember(&view.pipeline, |memory| memory.made = Some((revision.clone(), stored)));
    result
}

/// Creates the ConfigMap of a revision: of the spec's as rendered now, of another rendered again from its stored spec.
pub(super) async fn create_config_map(ctx: &Context, view: &View, revision: &Revision, name: &str) -> ActionResult {
    let rendered_now = view
        .spec
        .rendered
        .as_ref()
        .filter(|spec| spec.rendered.config.name == name);
    let content = match rendered_now {
        Some(spec) => spec.rendered.config.clone(),
        None => match pods::stored(ctx, view, revision).await {
            Ok(stored) => match rendered_again(&view.pipeline.name, &stored, name) {
                Ok(content) => content,
                Err(result) => return result,
            },
            Err(result) => return result,
        },
    };
    let mut metadata = metadata(&view.pipeline, &view.pipeline.workload_namespace, name, revision);
    let labels = metadata.labels.get_or_insert_default();
    for (key, value) in content.labels {
        labels.entry(key).or_insert(value);
    }
    let object = ConfigMap {
        metadata,
        data: Some(BTreeMap::from([(CONFIG_KEY.to_owned(), content.text)])),
        immutable: Some(true),
        ..ConfigMap::default()
    };
    let api = Api::<ConfigMap>::namespaced(ctx.client.clone(), &view.pipeline.workload_namespace);
    match create(ctx, view, &api, "ConfigMap", &object).await {
        Ok(()) => ActionResult::Done,
        Err(Existing::Ours(existing)) if existing.data == object.data => ActionResult::AlreadyOurs,
        Err(Existing::Ours(_)) => ActionResult::NotOurs {
            holder: format!("ConfigMap {name}, whose text was changed; delete it to have it made again"),
        },
        Err(Existing::Not(result)) => result,
    }
}

fn rendered_again(pipeline: &str, stored: &StoredRevision, name: &str) -> Result<ConfigMapContent, ActionResult> {
    let faults = match ValidPipeline::parse(pipeline, &stored.spec) {
        Ok(valid) => match render(&valid).config {
            content if content.name == name => return Ok(content),
            other => format!("this release renders it as {}", other.name),
        },
        Err(violations) => violations
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "),
    };
    Err(unusable(format!(
        "ConfigMap {name} is missing and cannot be rendered again from the stored spec: {faults}"
    )))
}

/// An object under the name that is wanted.
enum Existing<K> {
    Ours(Box<K>),
    Not(ActionResult),
}

/// Creates an object, or says who has its name.
async fn create<K>(ctx: &Context, view: &View, api: &Api<K>, kind: &str, object: &K) -> Result<(), Existing<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
{
    let name = object.meta().name.as_deref().unwrap_or_default();
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    let what = format!("create {kind} {namespace}/{name}");
    let Err(failure) = post(ctx, &what, namespace, object).await else {
        return Ok(());
    };
    if failure.class() != Class::AlreadyExists {
        return Err(Existing::Not(failure.as_result()));
    }
    Err(match ctx.ask(&what, api.get(name)).await {
        Ok(existing) if owners::is_ours(existing.meta(), &view.pipeline) => Existing::Ours(Box::new(existing)),
        Ok(existing) => Existing::Not(ActionResult::NotOurs {
            holder: owners::describe(ctx, kind, existing.meta()).await,
        }),
        Err(failure) => Existing::Not(failure.as_result()),
    })
}

/// Sends a create. Its JSON is in Go's form, for the API server compares some of it byte by byte later.
async fn post<K>(ctx: &Context, what: &str, namespace: &str, object: &K) -> Result<(), Failure>
where
    K: kube::Resource<DynamicType = ()> + DeserializeOwned + serde::Serialize,
{
    let json = serde_json::to_string(object).map_err(|error| Failure::of(what)(kube::Error::SerdeError(error)))?;
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let request = Request::new(K::url_path(&(), Some(namespace)));
    let request = request.create(&params, escape_as_go_does(&json).into_bytes());
    let request = request.map_err(|error| Failure::of(what)(kube::Error::BuildRequest(error)))?;
    ctx.ask(what, ctx.client.request::<K>(request)).await.map(drop)
}

/// Deletes a ConfigMap.
pub(super) async fn delete_config_map(ctx: &Context, view: &View, name: &str, uid: &str) -> ActionResult {
    let api = Api::<ConfigMap>::namespaced(ctx.client.clone(), &view.pipeline.workload_namespace);
    delete(ctx, &api, "ConfigMap", name, uid).await
}

/// Deletes a ControllerRevision.
pub(super) async fn delete_revision(ctx: &Context, view: &View, name: &str, uid: &str) -> ActionResult {
    let api = Api::<ControllerRevision>::namespaced(ctx.client.clone(), &view.pipeline.namespace);
    delete(ctx, &api, "ControllerRevision", name, uid).await
}

async fn delete<K>(ctx: &Context, api: &Api<K>, kind: &str, name: &str, uid: &str) -> ActionResult
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = only(DeleteParams::default(), uid);
    match ctx
        .ask(&format!("delete {kind} {name}"), api.delete(name, &params))
        .await
    {
        Ok(_) => ActionResult::Done,
        Err(failure) if matches!(failure.class(), Class::NotFound | Class::Conflict) => ActionResult::AlreadyOurs,
        Err(failure) => failure.as_result(),
    }
}

/// Notes on a ControllerRevision that its revision has completed.
pub(super) async fn mark_completed(
    ctx: &Context,
    view: &View,
    name: &str,
    revision: &Revision,
    at: Timestamp,
) -> ActionResult {
    let Some(object) = view.observed.stored(revision) else {
        return ActionResult::Unavailable {
            message: format!("ControllerRevision {name} is not seen yet; looks again"),
        };
    };
    let patch = ObjectMeta {
        // The API server takes it as a precondition.
        uid: Some(object.uid.clone()),
        annotations: Some(BTreeMap::from([(ANNOTATION_COMPLETED_AT.to_owned(), at.to_string())])),
        ..ObjectMeta::default()
    };
    let patch = Patch::Merge(patch.into_request_partial::<ControllerRevision>());
    let api = Api::<ControllerRevision>::namespaced(ctx.client.clone(), &view.pipeline.namespace);
    let what = format!("mark ControllerRevision {name} as completed");
    let params = PatchParams::default();
    done(ctx.ask(&what, api.patch_metadata(name, &params, &patch)).await)
}

/// Puts our finalizer on the pipeline.
pub(super) async fn add_finalizer(ctx: &Context, view: &View) -> ActionResult {
    let mut finalizers = finalizers(&view.stored);
    finalizers.push(FINALIZER.to_owned());
    set_finalizers(ctx, view, finalizers).await
}

/// Takes our finalizer off the pipeline, once a live look finds nothing of it in the workload namespace.
pub(super) async fn remove_finalizer(ctx: &Context, view: &View) -> ActionResult {
    match is_empty(ctx, view).await {
        Ok(true) => {}
        Ok(false) => {
            return ActionResult::Unavailable {
                message: "Pods or ConfigMaps of it are still there; the finalizer stays until they are gone".to_owned(),
            };
        }
        // A namespace that is gone has nothing in it.
        Err(failure) if failure.class() == Class::NotFound => {}
        Err(failure) => return failure.as_result(),
    }
    let mut finalizers = finalizers(&view.stored);
    finalizers.retain(|finalizer| finalizer != FINALIZER);
    set_finalizers(ctx, view, finalizers).await
}

/// Whether nothing of it is left where no ownerReference reaches. The old namespace was read in this pass.
async fn is_empty(ctx: &Context, view: &View) -> Result<bool, Failure> {
    if !view.pipeline.is_remote() {
        return Ok(true);
    }
    let namespace = &view.pipeline.workload_namespace;
    let owned = format!("{LABEL_OWNER_UID}={}", view.pipeline.uid);
    // Without a resourceVersion the list is a consistent read.
    let params = ListParams::default().labels(&owned).limit(1);
    let pods = Api::<Pod>::namespaced(ctx.client.clone(), namespace);
    let pods = ctx
        .ask(&format!("list Pods in {namespace}"), pods.list_metadata(&params))
        .await?;
    let config_maps = Api::<ConfigMap>::namespaced(ctx.client.clone(), namespace);
    let what = format!("list ConfigMaps in {namespace}");
    let config_maps = ctx.ask(&what, config_maps.list_metadata(&params)).await?;
    Ok(pods.items.is_empty() && config_maps.items.is_empty())
}

fn finalizers(pipeline: &StoredPipeline) -> Vec<String> {
    pipeline.metadata.finalizers.clone().unwrap_or_default()
}

async fn set_finalizers(ctx: &Context, view: &View, finalizers: Vec<String>) -> ActionResult {
    let patch = ObjectMeta {
        // Finalizers are replaced as a whole, so nobody may have changed them in between.
        resource_version: view.stored.metadata.resource_version.clone(),
        uid: view.stored.metadata.uid.clone(),
        finalizers: Some(finalizers),
        ..ObjectMeta::default()
    };
    let patch = Patch::Merge(patch.into_request_partial::<StreamingPipeline>());
    let api = Api::<StreamingPipeline>::namespaced(ctx.client.clone(), &view.pipeline.namespace);
    let (what, params) = ("change the finalizers of the pipeline", PatchParams::default());
    match ctx
        .ask(what, api.patch_metadata(&view.pipeline.name, &params, &patch))
        .await
    {
        Err(failure) if failure.class() == Class::NotFound => ActionResult::AlreadyOurs,
        other => done(other),
    }
}

/// Metadata of an object of the pipeline.
fn metadata(pipeline: &PipelineFacts, namespace: &str, name: &str, revision: &Revision) -> ObjectMeta {
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let labels = [
        (LABEL_MANAGED_BY, MANAGED_BY_VALUE),
        (LABEL_OWNER_UID, &pipeline.uid),
        (LABEL_REVISION, revision.as_str()),
    ];
    let annotations = [
        (ANNOTATION_OWNER_NAME, pipeline.name.as_str()),
        (ANNOTATION_OWNER_NAMESPACE, &pipeline.namespace),
    ];
    let owner = (namespace == pipeline.namespace).then(|| OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: pipeline.name.clone(),
        uid: pipeline.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    });
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels.map(pair).into()),
        annotations: Some(annotations.map(pair).into()),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn done<T>(answer: Result<T, Failure>) -> ActionResult {
    match answer {
        Ok(_) => ActionResult::Done,
        Err(failure) if failure.class() == Class::Conflict => ActionResult::Unavailable {
            message: format!("{}; reads again", failure.in_words()),
        },
        Err(failure) => failure.as_result(),
    }
}

fn unusable(message: String) -> ActionResult {
    ActionResult::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message,
    }
}
