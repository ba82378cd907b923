//! Holds Deployments at `spec.paused`, and lets them go: by server-side apply, each analysis under its own field manager.
//!
//! An analysis has no finalizer: a deletion must not wait for an operator that is away. What a deleted one still holds is
//! found by its field manager, when it is deleted, and when a term begins. Must never create a Deployment, and never take a
//! pause away that is another's.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc::UnboundedReceiver;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use tokio::time::timeout;

use super::context::AnalysisContext;
use super::pass::Visit;
use super::target::get;
use crate::api::StoredAnalysis;
use crate::api::analysis_status::HeldDeployment;
use crate::api::deployment::{PauseApply, StoredDeployment, pausers};
use crate::api::rollout_analysis::TargetKind;
use crate::caches::id_of;
use crate::controller::errors::{Class, Failure};
use crate::core::analysis::hold::{HoldStep, decide, field_manager, holder};
use crate::core::analysis::status::Hold;
use crate::core::analysis::target::Target;

/// How many Deployments are listed at once.
const PAGE: u32 = 500;
/// When what could not be released is tried again.
const RETRY: Duration = Duration::from_secs(10);

impl Visit {
    /// Holds the target, or lets it go, as the run says.
    pub(super) async fn hold(&mut self, ctx: &AnalysisContext) -> Result<(), Failure> {
        self.let_others_go(ctx).await?;
        let (Ok(analysis), Some(live)) = (&self.analysis, self.live()) else {
            return Ok(());
        };
        let step = decide(&self.uid, analysis, &self.run, live, self.memory.hold.held());
        match step {
            HoldStep::Leave => self.memory.hold = Hold::None,
            HoldStep::Keep => self.memory.hold = self.held().map_or(Hold::None, Hold::Held),
            HoldStep::ResumedByUser => {
                self.run = std::mem::take(&mut self.run).resumed_by_user(ctx.now());
                self.memory.hold = Hold::None;
            }
            HoldStep::Hold => {
                // Whoever comes after a crash finds the verdict for which it is held.
                self.write(ctx).await?;
                self.apply(ctx, true).await?;
                if !self.is_current(ctx) {
                    // Deleted or edited meanwhile: the next visit, or nobody, would hold it.
                    self.apply(ctx, false).await?;
                }
            }
            HoldStep::Release => self.apply(ctx, false).await?,
        }
        Ok(())
    }

    fn live(&self) -> Option<&StoredDeployment> {
        self.seen.as_ref()?.deployment.as_ref()
    }

    /// The target as one that is held.
    fn held(&self) -> Option<HeldDeployment> {
        Some(HeldDeployment {
            name: self.names.as_ref()?.name.clone(),
            uid: self.facts()?.uid.clone(),
            revision: self.facts()?.revision.clone(),
        })
    }

    /// Lets go what is held and is no longer the target: another Deployment, or one that was deleted and made again.
    async fn let_others_go(&mut self, ctx: &AnalysisContext) -> Result<(), Failure> {
        let Some(held) = self.memory.hold.held().cloned() else {
            return Ok(());
        };
        let named = self
            .names
            .as_ref()
            .is_none_or(|names| names.kind == TargetKind::Deployment && names.name == held.name);
        let is_target = match self.seen.as_ref().map(|seen| &seen.target) {
            Some(Target::Found(facts)) => named && facts.uid == held.uid,
            Some(Target::Missing) => false,
            _ => named,
        };
        // Without rights on Deployments nothing can be let go; the condition says so, and `kubectl rollout resume` does it.
        if is_target || !ctx.deployment_targets {
            return Ok(());
        }
        match apply(ctx, &self.id.namespace, &held.name, &held.uid, &self.uid, false).await {
            Err(failure) if !is_gone(&failure) => Err(failure),
            _ => {
                self.memory.hold = Hold::None;
                Ok(())
            }
        }
    }

    /// Holds the target, or lets it go. What the API server refuses is told in the status; what it does not answer is
    /// tried again.
    async fn apply(&mut self, ctx: &AnalysisContext, paused: bool) -> Result<(), Failure> {
        let Some(target) = self.held() else { return Ok(()) };
        let applied = apply(ctx, &self.id.namespace, &target.name, &target.uid, &self.uid, paused).await;
        let before = self.memory.hold.held().cloned();
        self.memory.hold = match applied {
            Ok(()) if paused => Hold::Held(target),
            Ok(()) => Hold::None,
            Err(failure) => match failure.class() {
                // It is gone, or another one by now: the next visit sees.
                Class::NotFound | Class::Conflict | Class::AlreadyExists => Hold::None,
                Class::Forbidden | Class::Invalid => Hold::Refused(before, failure.in_words()),
                Class::Throttled | Class::Server | Class::NoAnswer | Class::NotSent => return Err(failure),
            },
        };
        Ok(())
    }
}

/// Applies the pause of an analysis to the Deployment of this name and uid, or takes it off.
async fn apply(
    ctx: &AnalysisContext,
    namespace: &str,
    name: &str,
    uid: &str,
    analysis_uid: &str,
    paused: bool,
) -> Result<(), Failure> {
    let verb = if paused { "hold" } else { "release" };
    let params = PatchParams {
        // A `paused: false` that another tool applies does not keep it from being held.
        force: true,
        field_manager: Some(field_manager(analysis_uid)),
        ..PatchParams::default()
    };
    let body = Patch::Apply(PauseApply::new(name, uid, paused));
    let api = Api::<Deployment>::namespaced(ctx.base.client.clone(), namespace);
    let what = format!("{verb} Deployment {namespace}/{name}");
    let patched = api.patch_metadata(name, &params, &body);
    ctx.base.ask(&what, patched).await?;
    tracing::info!("{what}: done");
    Ok(())
}

/// Whether what was to be let go is not there any more.
fn is_gone(failure: &Failure) -> bool {
    matches!(
        failure.class(),
        Class::NotFound | Class::Conflict | Class::AlreadyExists
    )
}

/// Lets go whatever an analysis holds that is deleted.
pub(super) async fn release_all(ctx: &AnalysisContext, analysis: &StoredAnalysis) -> Result<(), Failure> {
    if !ctx.deployment_targets {
        return Ok(());
    }
    let namespace = analysis.metadata.namespace.as_deref().unwrap_or_default();
    let uid = analysis.metadata.uid.as_deref().unwrap_or_default();
    let target = analysis.spec.as_ref().as_ref().ok().map(|spec| &spec.target);
    let target = target
        .filter(|target| target.kind == TargetKind::Deployment)
        .map(|target| target.name.clone());
    let held = analysis.status.held.as_ref().map(|held| held.name.clone());
    let names: BTreeSet<String> = target.into_iter().chain(held).collect();
    for name in names {
        let Some(live) = get(ctx, namespace, &name).await? else {
            continue;
        };
        let uid_of_it = live.metadata.uid.as_deref().unwrap_or_default();
        if live.is_paused_by(&field_manager(uid)) {
            released(apply(ctx, namespace, &name, uid_of_it, uid, false).await)?;
        }
    }
    Ok(())
}

fn released(result: Result<(), Failure>) -> Result<(), Failure> {
    match result {
        Err(failure) if is_gone(&failure) => Ok(()),
        result => result,
    }
}

/// Lets go what deleted analyses hold, for as long as the term lasts: what was left while nobody led, and each as it is
/// deleted. What fails is tried again, and keeps nothing else waiting.
pub(super) async fn release_deleted(ctx: &AnalysisContext, mut gone: UnboundedReceiver<Arc<StoredAnalysis>>) {
    let mut looks_for_left = ctx.deployment_targets;
    let mut pending: Vec<Arc<StoredAnalysis>> = Vec::new();
    loop {
        looks_for_left = looks_for_left && is_to_be_tried_again(release_left(ctx).await);
        let mut failed = Vec::new();
        for analysis in pending {
            if is_to_be_tried_again(release_all(ctx, &analysis).await) {
                failed.push(analysis);
            }
        }
        pending = failed;
        let next = if looks_for_left || !pending.is_empty() {
            timeout(RETRY, gone.next()).await
        } else {
            Ok(gone.next().await)
        };
        match next {
            Ok(Some(analysis)) => {
                let id = id_of(&analysis.metadata);
                ctx.base.metrics.analyses.forget(&id.namespace, &id.name);
                ctx.forget_gone();
                pending.push(analysis);
            }
            // Another term has begun to read.
            Ok(None) => return,
            Err(_) => {}
        }
    }
}

fn is_to_be_tried_again(result: Result<(), Failure>) -> bool {
    match result {
        Ok(()) => false,
        Err(failure) => {
            tracing::warn!("{}; tries again in {RETRY:?}", failure.in_words());
            true
        }
    }
}

/// Lets go every Deployment that is held under the field manager of an analysis that does not exist.
async fn release_left(ctx: &AnalysisContext) -> Result<(), Failure> {
    let known = ctx.analyses().uids();
    for scope in ctx.analyses().scopes() {
        let api = scope.api::<Deployment>(ctx.base.client.clone());
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = ctx.base.ask("list Deployments", api.list_metadata(&params)).await?;
            for found in page.items {
                let metadata = &found.metadata;
                let left = pausers(metadata).filter_map(holder).filter(|uid| !known.contains(*uid));
                for uid in left {
                    let id = id_of(metadata);
                    let of = metadata.uid.as_deref().unwrap_or_default();
                    tracing::warn!(deployment = %id.name, namespace = %id.namespace, "is held by an analysis that is gone");
                    released(apply(ctx, &id.namespace, &id.name, of, uid, false).await)?;
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
    }
    Ok(())
}
