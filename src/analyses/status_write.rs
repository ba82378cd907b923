//! Writes the status of an analysis: the whole of it, by PUT with the resourceVersion of the copy it was computed from.
//! Must never write over what it has not read.

use std::sync::Arc;

use kube::api::PostParams;
use kube::core::{ObjectMeta, Request};
use kube::{Api, Resource as _};
use serde::Serialize;

use super::context::AnalysisContext;
use super::pass::Visit;
use crate::api::meta::{ANALYSIS_KIND, API_VERSION, FIELD_MANAGER};
use crate::api::{RolloutAnalysisStatus, StoredAnalysis};
use crate::controller::errors::{Class, Failure};

/// How often a status is computed again because someone else wrote in between; then it is the next pass's turn.
const ATTEMPTS_MAX: usize = 4;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Written.
    Yes,
    /// Nothing was due.
    Unchanged,
    /// The analysis was edited, deleted or replaced in between: another pass has to look again.
    Superseded,
}

/// `/status` takes these fields; the API server keeps its own spec and metadata.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    status: &'a RolloutAnalysisStatus,
}

/// Writes the status as the visit has it now. Afterwards it holds the analysis as written.
pub(super) async fn write(ctx: &AnalysisContext, visit: &mut Visit) -> Result<Written, Failure> {
    for _ in 0..ATTEMPTS_MAX {
        let next = visit.status(&visit.stored.status, ctx.now());
        match put(ctx, visit, &next).await {
            Ok(written) => {
                let written = Arc::new(written);
                ctx.analyses().wrote(&visit.stored, &written);
                visit.stored = written;
                return Ok(Written::Yes);
            }
            Err(failure) if failure.class() == Class::Conflict => {}
            Err(failure) if failure.class() == Class::NotFound => return Ok(Written::Superseded),
            Err(failure) => return Err(failure),
        }
        if !read_again(ctx, visit).await? {
            return Ok(Written::Superseded);
        }
    }
    Ok(Written::Superseded)
}

/// Reads the analysis again; false when what was seen does not apply to it any more.
async fn read_again(ctx: &AnalysisContext, visit: &mut Visit) -> Result<bool, Failure> {
    let (namespace, name) = (&visit.id.namespace, &visit.id.name);
    let api = Api::<StoredAnalysis>::namespaced(ctx.base.client.clone(), namespace);
    let what = format!("read RolloutAnalysis {namespace}/{name}");
    let Some(read) = ctx.base.ask(&what, api.get_opt(name)).await? else {
        return Ok(false);
    };
    let (before, now) = (&visit.stored.metadata, &read.metadata);
    let same = before.uid == now.uid
        && before.generation == now.generation
        && before.deletion_timestamp == now.deletion_timestamp;
    visit.stored = Arc::new(read);
    Ok(same)
}

async fn put(ctx: &AnalysisContext, visit: &Visit, status: &RolloutAnalysisStatus) -> Result<StoredAnalysis, Failure> {
    let (namespace, name) = (&visit.id.namespace, &visit.id.name);
    let what = format!("write the status of RolloutAnalysis {namespace}/{name}");
    let update = StatusUpdate {
        api_version: API_VERSION,
        kind: ANALYSIS_KIND,
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(namespace.clone()),
            uid: visit.stored.metadata.uid.clone(),
            resource_version: visit.stored.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        },
        status,
    };
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let body = serde_json::to_vec(&update).map_err(|error| Failure::of(&what)(kube::Error::SerdeError(error)))?;
    let url = StoredAnalysis::url_path(&(), Some(namespace));
    let request = Request::new(url).replace_subresource("status", name, &params, body);
    let request = request.map_err(|error| Failure::of(&what)(kube::Error::BuildRequest(error)))?;
    ctx.base.ask(&what, ctx.base.client.request(request)).await
}
