//! An object of ours that a pass works with: its status is replaced as a whole, and it is read again when someone else
//! wrote in between. Must never write over what it has not read.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::api::PostParams;
use kube::core::{ObjectMeta, Request};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::context::Context;
use super::errors::Failure;
use crate::api::meta::{API_VERSION, FIELD_MANAGER};

/// How often a status is computed again because someone else wrote in between; then it is the next pass's turn.
pub const STATUS_ATTEMPTS_MAX: usize = 4;

/// `/status` takes these fields; the API server keeps its own spec and metadata.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a, S> {
    api_version: &'static str,
    kind: &'a str,
    metadata: ObjectMeta,
    status: &'a S,
}

impl Context {
    /// Replaces the status of an object of our kinds by PUT with the resourceVersion of `read`, the metadata of the copy it
    /// was computed from; gives the object as it then is. Fails with a conflict when it is another by now.
    pub async fn replace_status<K>(&self, read: &ObjectMeta, status: &impl Serialize) -> Result<K, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned,
    {
        let kind = K::kind(&());
        let name = read.name.as_deref().unwrap_or_default();
        let what = format!("write the status of {}", in_words::<K>(read));
        let update = StatusUpdate {
            api_version: API_VERSION,
            kind: kind.as_ref(),
            metadata: ObjectMeta {
                name: read.name.clone(),
                namespace: read.namespace.clone(),
                uid: read.uid.clone(),
                resource_version: read.resource_version.clone(),
                ..ObjectMeta::default()
            },
            status,
        };
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let body = serde_json::to_vec(&update).map_err(|error| Failure::of(&what)(kube::Error::SerdeError(error)))?;
        let url = K::url_path(&(), read.namespace.as_deref());
        let request = Request::new(url).replace_subresource("status", name, &params, body);
        let request = request.map_err(|error| Failure::of(&what)(kube::Error::BuildRequest(error)))?;
        self.ask(&what, self.client.request(request)).await
    }

    /// Reads an object again; false when what was decided for the one before does not apply to it any more: it is gone,
    /// another one, edited or being deleted.
    pub async fn read_again<K>(&self, object: &mut Arc<K>) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
    {
        let before = object.meta();
        let namespace = before.namespace.as_deref().unwrap_or_default();
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        let what = format!("read {}", in_words::<K>(before));
        let name = before.name.as_deref().unwrap_or_default();
        let Some(read) = self.ask(&what, api.get_opt(name)).await? else {
            return Ok(false);
        };
        let now = read.meta();
        let same = before.uid == now.uid
            && before.generation == now.generation
            && before.deletion_timestamp == now.deletion_timestamp;
        *object = Arc::new(read);
        Ok(same)
    }
}

/// An object for people: `Kind namespace/name`.
fn in_words<K: Resource<DynamicType = ()>>(metadata: &ObjectMeta) -> String {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let name = metadata.name.as_deref().unwrap_or_default();
    format!("{} {namespace}/{name}", K::kind(&()))
}
