//! What is left of an earlier run of a pipeline: read from the API server in the pass that judges it, and written.
//!
//! Deployments of the Python operator are watched by their labels alone, so that it is known which pipelines have any;
//! their numbers and Pods are read anew in each pass over such a pipeline, and only then. A pipeline that nothing of the
//! kind belongs to costs no request. Must never write to what does not carry the pipeline's uid, and never create.

pub(super) mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::core::{NamespaceResourceScope, ObjectMeta, PartialObjectMeta};
use serde::de::DeserializeOwned;

use super::context::Context;
use super::errors::{Class, Failure};
use crate::api::StoredPipeline;
use crate::api::meta::{LABEL_LEGACY_OWNER_UID, LABEL_MANAGED_BY, LABEL_OWNER_UID, MANAGED_BY_VALUE, owner_uid};
use crate::caches::owner_of;
use crate::core::observed::{Legacy, LegacyConfigMap, LegacyDeployment, PipelineFacts, Rolling};
use crate::core::plan::Wanted;

/// Both labels by which the Python operator said whose an object is.
const OWNER_LABELS: [&str; 2] = [LABEL_LEGACY_OWNER_UID, LABEL_OWNER_UID];
/// What is done in a namespace that is left: group, resource, verbs.
const NEEDED: [(&str, &str, &[&str]); 4] = [
    ("", "pods", &["list", "delete"]),
    ("", "configmaps", &["list", "delete"]),
    ("apps", "deployments", &["list", "patch", "delete"]),
    ("apps", "replicasets", &["list"]),
];

/// How the Python operator is taken over from.
#[derive(Clone, Debug, Default)]
pub struct LegacySettings {
    /// Whether it is.
    pub takeover: bool,
    /// Where it ran its Deployments, for pipelines whose status does not say.
    pub namespace: Option<String>,
}

/// What is left, and the pipeline's Pods in its old namespace.
#[derive(Debug, Default)]
pub struct Left {
    /// Deployments, ConfigMaps, marks.
    pub legacy: Legacy,
    /// The Pods in the old namespace.
    pub pods: Vec<Pod>,
}

/// Reads what is left of an earlier run. Where that is forbidden, what is found says so.
pub async fn read(
    ctx: &Context,
    stored: &StoredPipeline,
    pipeline: &PipelineFacts,
    wanted: Option<&Wanted>,
) -> Result<Left, Failure> {
    match look(ctx, stored, pipeline, wanted).await {
        Err(failure) if failure.class() == Class::Forbidden => {
            ctx.legacy_rights.forget();
            let mut left = Left::default();
            let recorded = stored.status.workload_namespace.clone();
            left.legacy.old_namespace = recorded.filter(|old| *old != pipeline.workload_namespace);
            left.legacy.unreadable = Some(format!(
                "it is not known what the Python operator or an earlier setting left; nothing is created until it is. The \
                 operator {}",
                failure.in_words()
            ));
            Ok(left)
        }
        read => read,
    }
}

async fn look(
    ctx: &Context,
    stored: &StoredPipeline,
    pipeline: &PipelineFacts,
    wanted: Option<&Wanted>,
) -> Result<Left, Failure> {
    let settings = &ctx.legacy;
    let recorded = stored.status.workload_namespace.as_ref();
    let configured = settings.namespace.as_ref().filter(|_| settings.takeover);
    let old = recorded
        .or(configured)
        .filter(|old| **old != pipeline.workload_namespace);
    let has_marks = Legacy::marks(&stored.metadata);
    let mut left = Left::default();
    left.legacy.old_namespace = old.cloned();
    left.legacy.has_marks = has_marks && settings.takeover;
    if has_marks && !settings.takeover {
        left.legacy.unreadable = (!pipeline.deleting).then(|| not_taken_over(&stored.metadata));
        return Ok(left);
    }
    let is_here = settings.takeover && (has_marks || ctx.world.has_legacy(&pipeline.uid, &pipeline.workload_namespace));
    if let Some(old) = old {
        left.legacy.unreadable = missing_right(ctx, old).await?;
        if left.legacy.unreadable.is_some() {
            return Ok(left);
        }
        left.pods = pods_of(ctx, pipeline, old).await?;
    }
    let here = is_here.then_some(&pipeline.workload_namespace);
    let mut reader = Reader {
        ctx,
        pipeline,
        min_ready: wanted.map_or_else(Default::default, |wanted| wanted.min_ready),
        legacy: left.legacy,
    };
    for namespace in old.into_iter().chain(here) {
        if settings.takeover {
            reader.deployments(namespace).await?;
        }
    }
    if reader.legacy.deployments.iter().all(LegacyDeployment::is_empty) {
        for namespace in old.into_iter().chain(here) {
            reader.config_maps(namespace, Some(namespace) == old).await?;
        }
    }
    left.legacy = reader.legacy;
    Ok(left)
}

fn not_taken_over(metadata: &ObjectMeta) -> String {
    let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
    format!(
        "the finalizers or annotations of the Python operator (kopf.zalando.org/...) are still on the pipeline, and with \
         --legacy-takeover false nobody moves it. Delete its Deployments, then take them off: kubectl edit spipe -n {} {}",
        namespace.unwrap_or_default(),
        name.unwrap_or_default()
    )
}

/// The right that is missing in a namespace that is to be left, with what to do; `None` when there is none.
async fn missing_right(ctx: &Context, namespace: &str) -> Result<Option<String>, Failure> {
    if ctx.legacy_rights.is_known(namespace) {
        return Ok(None);
    }
    let mut missing = Vec::new();
    let needed = NEEDED
        .iter()
        .filter(|(group, ..)| group.is_empty() || ctx.legacy.takeover);
    for (group, resource, verbs) in needed {
        for verb in *verbs {
            if !may(ctx, namespace, group, resource, verb).await? {
                let dot = if group.is_empty() { "" } else { "." };
                missing.push(format!("{verb} {resource}{dot}{group}"));
            }
        }
    }
    if missing.is_empty() {
        ctx.legacy_rights.note(namespace);
        return Ok(None);
    }
    Ok(Some(format!(
        "the pipeline ran in namespace {namespace} before, and what is left there cannot be listed and deleted; nothing is \
         created until it can. The operator lacks the rights there: {}",
        missing.join(", ")
    )))
}

async fn may(ctx: &Context, namespace: &str, group: &str, resource: &str, verb: &str) -> Result<bool, Failure> {
    let attributes = ResourceAttributes {
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        verb: Some(verb.to_owned()),
        namespace: Some(namespace.to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            non_resource_attributes: None,
        },
        ..SelfSubjectAccessReview::default()
    };
    let api = Api::<SelfSubjectAccessReview>::all(ctx.client.clone());
    let what = format!("ask whether the operator may {verb} {resource} in {namespace}");
    let answer = ctx.ask(&what, api.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// The pipeline's Pods in its old namespace, by either label. Those that a Deployment made have neither.
async fn pods_of(ctx: &Context, pipeline: &PipelineFacts, namespace: &str) -> Result<Vec<Pod>, Failure> {
    let api = Api::<Pod>::namespaced(ctx.client.clone(), namespace);
    let mut pods = Vec::new();
    for label in OWNER_LABELS {
        let owned = ListParams::default().labels(&format!("{label}={}", pipeline.uid));
        let what = format!("list Pods in {namespace}");
        pods.extend(ctx.ask(&what, api.list(&owned)).await?.items);
    }
    pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    pods.dedup_by(|a, b| a.metadata.uid == b.metadata.uid);
    Ok(pods)
}

struct Reader<'a> {
    ctx: &'a Context,
    pipeline: &'a PipelineFacts,
    min_ready: jiff::SignedDuration,
    legacy: Legacy,
}

impl Reader<'_> {
    /// The Deployments of a namespace, with their Pods.
    async fn deployments(&mut self, namespace: &str) -> Result<(), Failure> {
        let api = Api::<Deployment>::namespaced(self.ctx.client.clone(), namespace);
        let mut found = BTreeMap::new();
        for label in OWNER_LABELS {
            let owned = ListParams::default().labels(&format!("{label}={}", self.pipeline.uid));
            let what = format!("list Deployments in {namespace}");
            for deployment in self.ctx.ask(&what, api.list(&owned)).await?.items {
                found.insert(deployment.metadata.name.clone(), deployment);
            }
        }
        for deployment in found.values() {
            let pods: Vec<Pod> = self.selected(namespace, deployment, "Pods").await?;
            let sets: Vec<ReplicaSet> = if Rolling::is_in(deployment) {
                self.selected(namespace, deployment, "ReplicaSets").await?
            } else {
                Vec::new()
            };
            let now = self.ctx.clock.now();
            let read = LegacyDeployment::read(deployment, &pods, &sets, self.min_ready, now);
            self.legacy.deployments.extend(read);
        }
        self.legacy
            .deployments
            .sort_by(|a, b| (a.set, &a.name).cmp(&(b.set, &b.name)));
        Ok(())
    }

    /// What the selector of a Deployment selects.
    async fn selected<K>(&self, namespace: &str, deployment: &Deployment, kind: &str) -> Result<Vec<K>, Failure>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.ctx.client.clone(), namespace);
        let selector = deployment.spec.as_ref().map(|spec| selector(&spec.selector));
        // What selects nothing would list everything in the namespace.
        let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
            return Ok(Vec::new());
        };
        let what = format!("list {kind} in {namespace}");
        let params = ListParams::default().labels(&selector);
        Ok(self.ctx.ask(&what, api.list(&params)).await?.items)
    }

    /// ConfigMaps by either label; in the old namespace those of this operator too.
    async fn config_maps(&mut self, namespace: &str, old: bool) -> Result<(), Failure> {
        let api = Api::<ConfigMap>::namespaced(self.ctx.client.clone(), namespace);
        let mut found = BTreeMap::new();
        for label in OWNER_LABELS {
            let owned = ListParams::default().labels(&format!("{label}={}", self.pipeline.uid));
            let what = format!("list ConfigMaps in {namespace}");
            for map in self.ctx.ask(&what, api.list_metadata(&owned)).await?.items {
                found.insert(map.metadata.name.clone(), map);
            }
        }
        for map in found
            .into_values()
            .filter(|map| old || !is_of_this_operator(&map.metadata))
        {
            let (Some(name), Some(uid)) = (map.metadata.name.clone(), map.metadata.uid.clone()) else {
                continue;
            };
            let used_by = self.other_user(namespace, &map.metadata).await?;
            self.legacy.config_maps.push(LegacyConfigMap {
                namespace: namespace.to_owned(),
                name,
                uid,
                used_by,
            });
        }
        Ok(())
    }

    /// Another pipeline with a Deployment of the Python operator that mounts this ConfigMap. All segments of a pipeline had
    /// the same one, and the name of each Deployment is that of the ConfigMap and the segment.
    async fn other_user(&self, namespace: &str, map: &ObjectMeta) -> Result<Option<String>, Failure> {
        let label = |key: &str| map.labels.as_ref().and_then(|labels| labels.get(key));
        let (Some(name), Some(service), Some(pipeline)) = (&map.name, label("service"), label("pipeline")) else {
            return Ok(None);
        };
        if !self.ctx.legacy.takeover {
            return Ok(None);
        }
        let api = Api::<Deployment>::namespaced(self.ctx.client.clone(), namespace);
        let alike = ListParams::default().labels(&format!("service={service},pipeline={pipeline}"));
        let what = format!("list Deployments in {namespace}");
        let others: Vec<PartialObjectMeta<Deployment>> = self.ctx.ask(&what, api.list_metadata(&alike)).await?.items;
        let prefix = format!("{name}-");
        let other = others.iter().find(|other| {
            let uid = owner_uid(other.metadata.labels.as_ref());
            let is_named = other
                .metadata
                .name
                .as_ref()
                .is_some_and(|name| name.starts_with(&prefix));
            is_named && uid.is_some_and(|uid| *uid != self.pipeline.uid)
        });
        Ok(other.map(|other| match owner_of(&other.metadata) {
            Some(owner) => format!("{}/{}", owner.namespace, owner.name),
            None => other.metadata.name.clone().unwrap_or_default(),
        }))
    }
}

fn is_of_this_operator(metadata: &ObjectMeta) -> bool {
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(LABEL_MANAGED_BY));
    label.is_some_and(|value| value == MANAGED_BY_VALUE)
}

/// The equalities of a selector; the Python operator writes no others.
fn selector(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(",")
}

/// Namespaces in which all rights were granted. A right that is taken away later is told by the refusal itself.
#[derive(Debug, Default)]
pub struct LegacyRights(Mutex<BTreeSet<String>>);

impl LegacyRights {
    fn is_known(&self, namespace: &str) -> bool {
        self.lock().contains(namespace)
    }

    fn forget(&self) {
        self.lock().clear();
    }

    fn note(&self, namespace: &str) {
        self.lock().insert(namespace.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_told_as_a_list_asks_for_it() {
        let labels = [("env", "primary"), ("service", "s")];
        let all = LabelSelector {
            match_labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            match_expressions: None,
        };
        assert_eq!(selector(&all), "env=primary,service=s");
        assert_eq!(selector(&LabelSelector::default()), "");
    }
}
