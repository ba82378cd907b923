//! Whose an object is that has a name we need. Must never take a name for an owner: the owner-uid label decides.

use kube::Api;
use kube::core::ObjectMeta;

use super::context::Context;
use super::errors::Class;
use crate::api::StreamingPipeline;
use crate::api::meta::LABEL_OWNER_UID;
use crate::caches::owner_of;
use crate::core::observed::PipelineFacts;

/// Whether the object carries the pipeline's uid.
pub(super) fn is_ours(metadata: &ObjectMeta, pipeline: &PipelineFacts) -> bool {
    owner_uid(metadata) == Some(pipeline.uid.as_str())
}

/// Who has an object of this kind, in words. Whether the pipeline that it names exists, the API server is asked.
pub(super) async fn describe(ctx: &Context, kind: &str, metadata: &ObjectMeta) -> String {
    let name = metadata.name.as_deref().unwrap_or_default();
    let (Some(uid), Some(owner)) = (owner_uid(metadata), owner_of(metadata)) else {
        return format!("{kind} {name}, which is not of this operator");
    };
    let api = Api::<StreamingPipeline>::namespaced(ctx.client.clone(), &owner.namespace);
    let pipeline = format!("{}/{}", owner.namespace, owner.name);
    match ctx.ask("read the owner", api.get_metadata(&owner.name)).await {
        Ok(found) if found.metadata.uid.as_deref() == Some(uid) => format!("{kind} {name} of pipeline {pipeline}"),
        Err(failure) if failure.class() != Class::NotFound => format!("{kind} {name} of pipeline {pipeline}"),
        Ok(_) | Err(_) => format!("{kind} {name} of the deleted pipeline {pipeline}"),
    }
}

fn owner_uid(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(LABEL_OWNER_UID).map(String::as_str)
}
