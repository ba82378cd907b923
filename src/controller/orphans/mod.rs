//! Finds what belongs to no pipeline any more: asks the API server what [`crate::core::orphans`] wants to know, for the
//! leader's sweeps and for `streaming-operator orphans` alike. Must never take silence for an absence.

mod sweeps;

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams};
use kube::core::Status;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::api::StoredPipeline;
use crate::api::manifests::is_established;
use crate::api::meta::{GROUP, LABEL_MANAGED_BY, LABEL_OWNER_UID, MANAGED_BY_VALUE, PLURAL};
use crate::caches::{Scope, owner_of};
use crate::client::{in_words, only};
use crate::core::collision::{NameSet, PipelineId};
use crate::core::orphans::{Facts, Managed, ManagedKind, OwnerFound};

pub(super) use sweeps::sweeps;

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(35);
/// How many pipelines are asked about at once.
const AT_ONCE: usize = 8;

/// Where an operator works, as its flags say.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Whose pipelines it looks after; empty for all namespaces.
    pub watch_namespaces: BTreeSet<String>,
    /// Where all Pods run; `None`: each pipeline's in its own namespace.
    pub workload_namespace: Option<String>,
}

impl Place {
    fn workload_scopes(&self) -> Vec<Scope> {
        match &self.workload_namespace {
            Some(namespace) => vec![Scope::Namespace(namespace.clone())],
            None => Scope::of(&self.watch_namespaces.iter().cloned().collect::<Vec<_>>()),
        }
    }

    fn workload_namespace<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.workload_namespace.as_deref().unwrap_or(namespace)
    }
}

/// An object of ours; `None` for one that is on its way out.
#[must_use]
pub fn managed(kind: ManagedKind, metadata: &ObjectMeta) -> Option<Managed> {
    if metadata.deletion_timestamp.is_some() {
        return None;
    }
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(LABEL_OWNER_UID));
    Some(Managed {
        kind,
        namespace: metadata.namespace.clone()?,
        name: metadata.name.clone()?,
        uid: metadata.uid.clone()?,
        owner_uid: label.cloned(),
        owner: owner_of(metadata),
    })
}

/// Every Pod and ConfigMap of ours, as the API server has them now; fails when one list cannot be had.
pub async fn list(client: &Client, place: &Place) -> Result<Vec<Managed>, kube::Error> {
    let mut objects = Vec::new();
    for scope in place.workload_scopes() {
        objects.extend(list_of(&scope.api::<Pod>(client.clone()), ManagedKind::Pod).await?);
        objects.extend(list_of(&scope.api::<ConfigMap>(client.clone()), ManagedKind::ConfigMap).await?);
    }
    Ok(objects)
}

async fn list_of<K>(api: &Api<K>, kind: ManagedKind) -> Result<Vec<Managed>, kube::Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let ours = ListParams::default().labels(&format!("{LABEL_MANAGED_BY}={MANAGED_BY_VALUE}"));
    let list = api.list_metadata(&ours).await?;
    Ok(list
        .items
        .iter()
        .filter_map(|object| managed(kind, &object.metadata))
        .collect())
}

/// Asks the API server about the pipelines of `objects`. Never fails: what could not be asked is a fact too.
pub async fn look(client: &Client, place: &Place, objects: &[Managed]) -> Facts {
    let mut facts = Facts {
        watch_namespaces: place.watch_namespaces.clone(),
        ..Facts::default()
    };
    let owners: BTreeSet<PipelineId> = objects
        .iter()
        .filter_map(|object| object.owner.clone())
        .filter(|owner| facts.watches(&owner.namespace))
        .collect();
    if owners.is_empty() {
        return facts;
    }
    let asked = stream::iter(owners).map(|owner| async {
        let found = find(client, place, &owner).await;
        (owner, found)
    });
    facts.owners = asked.buffer_unordered(AT_ONCE).collect().await;
    // Last, for a CRD that is deleted takes its pipelines with it.
    facts.crd_fault = crd_fault(client).await;
    facts
}

async fn find(client: &Client, place: &Place, owner: &PipelineId) -> OwnerFound {
    let api = Api::<StoredPipeline>::namespaced(client.clone(), &owner.namespace);
    match timeout(ANSWER, api.get(&owner.name)).await {
        Err(_) => OwnerFound::Unknown(format!("no answer within {ANSWER:?}")),
        Ok(Ok(pipeline)) => OwnerFound::Lives {
            names: pipeline.spec.typed_fields().map(|spec| {
                let namespace = place.workload_namespace(&owner.namespace);
                NameSet::of(namespace, &owner.name, &spec)
            }),
            uid: pipeline.metadata.uid.unwrap_or_default(),
        },
        Ok(Err(kube::Error::Api(status))) if is_absent(&status, &owner.name) => OwnerFound::Gone,
        Ok(Err(error)) => OwnerFound::Unknown(in_words(&error)),
    }
}

/// Whether a status says that there is no object of this name. A 404 for the kind, from a proxy or from an API server
/// without the CRD names no object.
fn is_absent(status: &Status, name: &str) -> bool {
    let named = status.details.as_ref().is_some_and(|details| details.name == name);
    status.code == 404 && status.reason == "NotFound" && named
}

/// Why the absence of a pipeline would mean nothing.
async fn crd_fault(client: &Client) -> Option<String> {
    let name = format!("{PLURAL}.{GROUP}");
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    match timeout(ANSWER, api.get(&name)).await {
        Err(_) => Some(format!("the CRD {name} cannot be read: no answer within {ANSWER:?}")),
        Ok(Err(error)) => Some(format!("the CRD {name} cannot be read: {}", in_words(&error))),
        Ok(Ok(crd)) if crd.metadata.deletion_timestamp.is_some() => Some(format!("the CRD {name} is being deleted")),
        Ok(Ok(crd)) if !is_established(&crd) => Some(format!("the CRD {name} is not Established")),
        Ok(Ok(_)) => None,
    }
}

/// Deletes exactly this object; `false` when it was gone already, or another one has its name.
pub async fn remove(client: &Client, object: &Managed) -> Result<bool, kube::Error> {
    match object.kind {
        ManagedKind::Pod => delete::<Pod>(client, object).await,
        ManagedKind::ConfigMap => delete::<ConfigMap>(client, object).await,
    }
}

async fn delete<K>(client: &Client, object: &Managed) -> Result<bool, kube::Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = only(DeleteParams::default(), &object.uid);
    let api = Api::<K>::namespaced(client.clone(), &object.namespace);
    match api.delete(&object.name, &params).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}
