//! Does what was decided: one match over the actions, each result noted. Pod writes go out in batches, everything else
//! one after the other. Must never write what was not decided, and never give up an answer: what came of each action
//! goes into the status.

use std::collections::BTreeSet;

use futures::future::join_all;

use super::backoff::Kind;
use super::context::Context;
use super::gather::View;
use super::legacy::write as legacy;
use super::{objects, pods};
use crate::core::plan::{Action, ActionResult, Outcome};

/// Most Pod writes of one pipeline at once, so that a large one leaves room for others.
const BATCH_MAX: usize = 16;

/// Carries the actions out in their order.
///
/// After a failure of something that everything depends on (finalizer, ControllerRevision, ConfigMap) the rest is
/// skipped; after any other only the rest of its kind is, and after another's Pod under the name of one of ours nothing.
pub async fn apply(ctx: &Context, view: &View, actions: &[Action]) -> Outcome {
    let mut pass = Pass {
        ctx,
        view,
        ended: Vec::new(),
        outcome: Outcome::default(),
    };
    pass.forget_unwanted(actions);
    pass.note_dry_run(actions);
    let mut rest = actions;
    while let Some(first) = rest.first() {
        let kind = Kind::of(first);
        let alike = rest.iter().take_while(|action| Kind::of(action) == kind).count();
        let (run, others) = rest.split_at(alike);
        pass.run(kind, run).await;
        rest = others;
    }
    pass.outcome
}

struct Pass<'a> {
    ctx: &'a Context,
    view: &'a View,
    /// Kinds that failed.
    ended: Vec<Kind>,
    outcome: Outcome,
}

impl Pass<'_> {
    /// Carries out actions of one kind: batches of 1, 2, 4 and so on, so that a refusal is met by one Pod and not by
    /// all of them.
    async fn run(&mut self, kind: Kind, actions: &[Action]) {
        let mut rest = actions;
        let mut size = 1;
        while !rest.is_empty() {
            if self.is_over(kind) {
                self.skip(rest);
                return;
            }
            let (batch, others) = rest.split_at(size.min(rest.len()));
            if let (Some(result), [first, skipped @ ..]) = (self.held(kind), batch) {
                self.note(kind, first, result);
                self.skip(skipped);
            } else {
                let results = join_all(batch.iter().map(|action| self.carry_out(action))).await;
                let of_kind = || results.iter().filter(|result| !kind.fails_alone(result));
                if let Some(worst) = of_kind().find(|result| !result.succeeded()).or(of_kind().next()) {
                    self.remember(kind, worst);
                }
                for (action, result) in batch.iter().zip(results) {
                    self.note(kind, action, result);
                }
            }
            rest = others;
            size = match kind {
                Kind::CreatePod | Kind::DeletePod => (size * 2).min(BATCH_MAX),
                _ => 1,
            };
        }
    }

    fn is_over(&self, kind: Kind) -> bool {
        self.ended
            .iter()
            .any(|ended| *ended == kind || ended.bars_what_follows())
    }

    /// What came of the last attempt, while it is too early for another one.
    fn held(&self, kind: Kind) -> Option<ActionResult> {
        let (now, generation) = (self.view.now, self.view.pipeline.generation);
        self.ctx.world.remember(&self.view.pipeline, |memory| {
            memory.holds.held(kind, generation, now).cloned()
        })
    }

    fn remember(&self, kind: Kind, result: &ActionResult) {
        let (now, generation) = (self.ctx.clock.now(), self.view.pipeline.generation);
        self.ctx.world.remember(&self.view.pipeline, |memory| {
            memory.holds.note(kind, generation, result, now);
        });
        self.ctx.namespaces.note(&self.view.pipeline.workload_namespace, result);
    }

    /// Names that are not wanted any more are not waited for.
    fn forget_unwanted(&self, actions: &[Action]) {
        let wanted: BTreeSet<String> = actions.iter().filter_map(created_pod).collect();
        self.ctx.world.remember(&self.view.pipeline, |memory| {
            memory.holds.keep_pods(|name| wanted.contains(name));
        });
    }

    /// What is going to be asked counts as asked, whatever becomes of the actions before it.
    fn note_dry_run(&self, actions: &[Action]) {
        for action in actions {
            if let Action::DryRunPod(plan) = action {
                self.ctx.world.remember(&self.view.pipeline, |memory| {
                    memory.ledger.dry_run_asked(&plan.revision);
                });
            }
        }
    }

    async fn carry_out(&self, action: &Action) -> ActionResult {
        let Some(name) = created_pod(action) else {
            return carry_out(self.ctx, self.view, action).await;
        };
        let (world, pipeline) = (&self.ctx.world, &self.view.pipeline);
        let (now, generation) = (self.view.now, pipeline.generation);
        let held = world.remember(pipeline, |memory| {
            memory.holds.held_pod(&name, generation, now).cloned()
        });
        if let Some(result) = held {
            return result;
        }
        let result = carry_out(self.ctx, self.view, action).await;
        if Kind::CreatePod.fails_alone(&result) || result.succeeded() {
            let now = self.ctx.clock.now();
            world.remember(pipeline, |memory| {
                memory.holds.note_pod(&name, generation, &result, now);
            });
        }
        result
    }

    fn note(&mut self, kind: Kind, action: &Action, result: ActionResult) {
        if !result.succeeded() && !kind.fails_alone(&result) {
            self.ended.push(kind);
        }
        self.outcome.results.push((action.clone(), result));
    }

    fn skip(&mut self, actions: &[Action]) {
        let skipped = actions.iter().map(|action| (action.clone(), ActionResult::Skipped));
        self.outcome.results.extend(skipped);
    }
}

/// The name of the Pod that an action creates.
fn created_pod(action: &Action) -> Option<String> {
    match action {
        Action::CreatePod(plan) => Some(plan.name.to_string()),
        _ => None,
    }
}

async fn carry_out(ctx: &Context, view: &View, action: &Action) -> ActionResult {
    match action {
        Action::AddFinalizer => objects::add_finalizer(ctx, view).await,
        Action::RemoveFinalizer => objects::remove_finalizer(ctx, view).await,
        Action::CreateRevision { revision, name } => objects::create_revision(ctx, view, revision, name).await,
        Action::CreateConfigMap { revision, name } => objects::create_config_map(ctx, view, revision, name).await,
        Action::DryRunPod(plan) => pods::dry_run(ctx, view, plan).await,
        Action::CreatePod(plan) => pods::create(ctx, view, plan).await,
        Action::DeletePod(delete) => pods::delete(ctx, view, delete).await,
        Action::DeleteConfigMap { name, uid, why: _ } => objects::delete_config_map(ctx, view, name, uid).await,
        Action::DeleteRevision { name, uid, why: _ } => objects::delete_revision(ctx, view, name, uid).await,
        Action::ClaimLegacy(claim) => legacy::claim(ctx, view, claim).await,
        Action::ScaleLegacy(scale) => legacy::scale(ctx, scale).await,
        Action::SetBackLegacy(back) => legacy::set_back(ctx, back).await,
        Action::DeleteLegacy { namespace, name, uid } => legacy::delete_deployment(ctx, namespace, name, uid).await,
        Action::DeleteLegacyConfigMap { namespace, name, uid } => {
            legacy::delete_config_map(ctx, namespace, name, uid).await
        }
        Action::RemoveLegacyMarks => legacy::remove_marks(ctx, view).await,
        Action::MarkCompleted { name, revision, at } => objects::mark_completed(ctx, view, name, revision, *at).await,
    }
}
