//! Our finalizers taken off pipelines before the operator goes for good: `streaming-operator release`. What a pipeline runs
//! stays. Must never touch another finalizer.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ListParams, ObjectMeta, PartialObjectMetaExt as _, Patch, PatchParams};
use kube::{Api, Client};

use crate::api::StreamingPipeline;
use crate::api::meta::FINALIZER;
use crate::caches::Scope;

/// How often a pipeline that changes meanwhile is read again.
const ATTEMPTS: usize = 3;

/// A pipeline that has our finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: that of its Pods' label.
    pub uid: String,
    /// The finalizers that stay.
    pub others: Vec<String>,
    /// Whether it is being deleted, and goes when the last finalizer does.
    pub is_deleted: bool,
    resource_version: Option<String>,
}

impl Held {
    /// `None` when the pipeline has no finalizer of ours.
    fn of(metadata: &ObjectMeta) -> Option<Self> {
        let finalizers = metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return None;
        }
        Some(Self {
            namespace: metadata.namespace.clone()?,
            name: metadata.name.clone()?,
            uid: metadata.uid.clone()?,
            others: finalizers
                .into_iter()
                .filter(|finalizer| finalizer != FINALIZER)
                .collect(),
            is_deleted: metadata.deletion_timestamp.is_some(),
            resource_version: metadata.resource_version.clone(),
        })
    }
}

/// Every pipeline with our finalizer, of these namespaces or, without any, of all. Fails when one list cannot be had.
pub async fn held(client: &Client, namespaces: &[String]) -> Result<Vec<Held>, kube::Error> {
    let mut held = Vec::new();
    for scope in Scope::of(namespaces) {
        let api = scope.api::<StreamingPipeline>(client.clone());
        let list = api.list_metadata(&ListParams::default()).await?;
        held.extend(list.items.iter().filter_map(|one| Held::of(&one.metadata)));
    }
    Ok(held)
}

/// Takes our finalizer off, and no other; of exactly the object that was listed. One that is gone is let go.
pub async fn let_go(client: &Client, pipeline: &Held) -> Result<(), kube::Error> {
    let api = Api::<StreamingPipeline>::namespaced(client.clone(), &pipeline.namespace);
    let mut held = pipeline.clone();
    let mut attempt = 1;
    loop {
        let patch = ObjectMeta {
            // Finalizers are replaced as a whole, so nobody may have changed them in between.
            resource_version: held.resource_version.clone(),
            uid: Some(held.uid.clone()),
            finalizers: Some(held.others.clone()),
            ..ObjectMeta::default()
        };
        let patch = Patch::Merge(patch.into_request_partial::<StreamingPipeline>());
        match api.patch_metadata(&held.name, &PatchParams::default(), &patch).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
        let Some(now) = api.get_metadata_opt(&held.name).await? else {
            return Ok(());
        };
        match Held::of(&now.metadata).filter(|now| now.uid == pipeline.uid) {
            Some(now) => held = now,
            None => return Ok(()),
        }
    }
}

/// Who holds the Lease `name` at `now`, by this machine's clock; `None` when nobody does.
pub async fn holder(
    client: &Client,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<Option<String>, kube::Error> {
    let lease = Api::<Lease>::namespaced(client.clone(), namespace)
        .get_opt(name)
        .await?;
    let Some(spec) = lease.and_then(|lease| lease.spec) else {
        return Ok(None);
    };
    let seconds = i64::from(spec.lease_duration_seconds.unwrap_or_default());
    let is_held = spec
        .renew_time
        .is_some_and(|at| now.duration_since(at.0).as_secs() <= seconds);
    Ok(spec.holder_identity.filter(|holder| is_held && !holder.is_empty()))
}
