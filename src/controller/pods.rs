//! Creates and deletes Pods. Each create is a plain create, each delete carries the uid of what it means. The ledger is
//! told before a write is sent and after its answer. Must never replace or delete a Pod that is not the pipeline's.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::core::{PartialObjectMeta, Request};
use kube::{Api, Resource};

use super::context::Context;
use super::errors::{Class, Failure};
use super::gather::{View, find_pod};
use super::owners;
use crate::api::PodReplacementPolicy;
use crate::api::meta::FIELD_MANAGER;
use crate::client::only;
use crate::core::names::Revision;
use crate::core::plan::{ActionResult, PodDelete, PodPlan};
use crate::core::render::{Owner, PodIdentity, pod_from_template};
use crate::core::stored_revision::StoredRevision;

/// Creates a Pod.
pub(super) async fn create(ctx: &Context, view: &View, plan: &PodPlan) -> ActionResult {
    let body = match body(ctx, view, plan).await {
        Ok(body) => body,
        Err(result) => return result,
    };
    let Ok(_permit) = ctx.pod_writes.acquire().await else {
        return stopping();
    };
    let name = plan.name.to_string();
    let ledger = |act: &dyn Fn(&mut crate::core::in_flight::Ledger)| {
        ctx.world.remember(&view.pipeline, |memory| act(&mut memory.ledger));
    };
    ledger(&|ledger| ledger.creating(plan, ctx.clock.now()));
    let failure = match post(ctx, view, &name, body, false).await {
        Ok(pod) => {
            let uid = pod.metadata.uid.unwrap_or_default();
            ledger(&|ledger| ledger.created(&name, &uid));
            return ActionResult::Done;
        }
        Err(failure) => failure,
    };
    if failure.class() == Class::AlreadyExists {
        let (uid, result) = already_exists(ctx, view, &name).await;
        match uid {
            Some(uid) => ledger(&|ledger| ledger.created(&name, &uid)),
            None => ledger(&|ledger| ledger.not_created(&name)),
        }
        return result;
    }
    if failure.class().was_not_done() {
        ledger(&|ledger| ledger.not_created(&name));
    }
    failure.as_result()
}

/// Asks whether a Pod would be created, and notes the answer in the ledger. "Exceeded quota" is a yes: the old Pods may
/// be what fills it.
pub(super) async fn dry_run(ctx: &Context, view: &View, plan: &PodPlan) -> ActionResult {
    let body = match body(ctx, view, plan).await {
        Ok(body) => body,
        Err(result) => return result,
    };
    let answer = post(ctx, view, &plan.name.to_string(), body, true).await;
    let result = match answer {
        Ok(_) => ActionResult::Done,
        Err(failure) => match failure.as_result() {
            ActionResult::Refused { message, .. } if message.contains("exceeded quota") => ActionResult::Done,
            // The name is taken: the create itself will say by whom.
            ActionResult::Refused { code: 409, .. } => ActionResult::Done,
            other => other,
        },
    };
    ctx.world.remember(&view.pipeline, |memory| match &result {
        ActionResult::Done => memory.ledger.dry_run_accepted(&plan.revision),
        ActionResult::Refused { .. } => {
            memory
                .ledger
                .dry_run_refused(&plan.revision, ctx.clock.now(), &ctx.settings);
        }
        _ => {}
    });
    result
}

/// Deletes a Pod.
pub(super) async fn delete(ctx: &Context, view: &View, delete: &PodDelete) -> ActionResult {
    let Ok(_permit) = ctx.pod_writes.acquire().await else {
        return stopping();
    };
    let namespace = view.namespace_of(&delete.uid);
    // What is in the old namespace each pass reads anew; no watch would take it off the ledger.
    let is_noted = namespace == view.pipeline.workload_namespace;
    let params = DeleteParams {
        grace_period_seconds: delete.force.then_some(0),
        ..DeleteParams::default()
    };
    let params = only(params, &delete.uid);
    if is_noted {
        ctx.world.remember(&view.pipeline, |memory| {
            memory.ledger.deleting(&delete.uid);
            memory
                .unanswered_deletes
                .insert(delete.uid.clone(), delete.name.clone());
        });
    }
    let what = format!("delete Pod {namespace}/{}", delete.name);
    let api = Api::<Pod>::namespaced(ctx.client.clone(), namespace);
    let result = match ctx.ask(&what, api.delete(&delete.name, &params)).await {
        Ok(_) => ActionResult::Done,
        Err(failure) => match failure.class() {
            // Gone, or another Pod has the name by now: what was meant is no more.
            Class::NotFound | Class::Conflict => ActionResult::AlreadyOurs,
            class if class.was_not_done() => {
                ctx.world.remember(&view.pipeline, |memory| {
                    memory.ledger.not_deleted(&delete.uid);
                    memory.unanswered_deletes.remove(&delete.uid);
                });
                return failure.as_result();
            }
            // It may be done or not; the next pass finds out.
            _ => return failure.as_result(),
        },
    };
    ctx.world.remember(&view.pipeline, |memory| {
        memory.ledger.deleted(&delete.uid);
        memory.unanswered_deletes.remove(&delete.uid);
    });
    result
}

/// Who has the name, and what that makes of the create; the uid when it is ours.
async fn already_exists(ctx: &Context, view: &View, name: &str) -> (Option<String>, ActionResult) {
    match find_pod(ctx, &view.pipeline.workload_namespace, name).await {
        Ok(Some(pod)) if owners::is_ours(&pod.metadata, &view.pipeline) => {
            (pod.metadata.uid, ActionResult::AlreadyOurs)
        }
        Ok(Some(pod)) => {
            let holder = owners::describe(ctx, "Pod", &pod.metadata).await;
            (None, ActionResult::NotOurs { holder })
        }
        Ok(None) => {
            let message = format!("Pod {name} was there when it was to be created, and then gone");
            (None, ActionResult::Unavailable { message })
        }
        Err(failure) => (None, failure.as_result()),
    }
}

/// The Pod as it is sent: raw JSON, so that a field which our types do not know reaches the API server.
async fn body(ctx: &Context, view: &View, plan: &PodPlan) -> Result<Vec<u8>, ActionResult> {
    let stored = stored(ctx, view, &plan.revision).await?;
    let unusable = |message: String| ActionResult::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message,
    };
    let template = stored.template(plan.set).ok_or_else(|| {
        let (revision, set) = (&plan.revision, plan.set);
        unusable(format!(
            "revision {revision} has no template for the {set} set: its name would be too long"
        ))
    })?;
    let facts = &view.pipeline;
    let owner = Owner {
        namespace: facts.namespace.clone(),
        name: facts.name.clone(),
        uid: facts.uid.clone(),
    };
    let policy = view.spec.wanted.as_ref().map(|wanted| wanted.policy);
    let pod = pod_from_template(
        template,
        &PodIdentity {
            base: &plan.name.base,
            set: plan.set,
            ordinal: plan.name.ordinal,
            generation: plan.name.generation,
            revision: &plan.revision,
            owner: &owner,
            namespace: &facts.workload_namespace,
            failures: plan.failures,
            static_membership: policy == Some(PodReplacementPolicy::Failed),
        },
    );
    serde_json::to_vec(&pod).map_err(|error| unusable(format!("the Pod cannot be written as JSON: {error}")))
}

/// What is stored of a revision; never what this release would render today.
pub(super) async fn stored(
    ctx: &Context,
    view: &View,
    revision: &Revision,
) -> Result<Arc<StoredRevision>, ActionResult> {
    let made = ctx.world.remember(&view.pipeline, |memory| memory.made.clone());
    if let Some((_, stored)) = made.filter(|(made, _)| made == revision) {
        return Ok(stored);
    }
    if let Some(object) = view.observed.stored(revision) {
        let found = ctx
            .stored_revision(&view.pipeline.namespace, &object.name, &object.uid)
            .await;
        if let Some(stored) = found.map_err(|failure| failure.as_result())? {
            return Ok(stored);
        }
    }
    Err(ActionResult::Unavailable {
        message: format!("the ControllerRevision of revision {revision} cannot be found; looks again"),
    })
}

async fn post(
    ctx: &Context,
    view: &View,
    name: &str,
    body: Vec<u8>,
    dry_run: bool,
) -> Result<PartialObjectMeta<Pod>, Failure> {
    let namespace = &view.pipeline.workload_namespace;
    let what = format!("create Pod {namespace}/{name}");
    let params = PostParams {
        dry_run,
        field_manager: Some(FIELD_MANAGER.to_owned()),
    };
    let request = Request::new(Pod::url_path(&(), Some(namespace))).create(&params, body);
    let request = request.map_err(|error| Failure::of(&what)(kube::Error::BuildRequest(error)))?;
    ctx.ask(&what, ctx.client.request(request)).await
}

fn stopping() -> ActionResult {
    ActionResult::Unavailable {
        message: "the operator stops".to_owned(),
    }
}
