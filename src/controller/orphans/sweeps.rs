//! The leader's sweeps: what is an orphan in two of them, a grace apart, is removed. Must never send a request while
//! every object has a pipeline that is known.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::sleep;

use super::{Place, look, remove};
use crate::api::NoticeReason;
use crate::caches::Scope;
use crate::controller::context::Context;
use crate::controller::report;
use crate::core::orphans::{Facts, Finding, Managed, Since, Sweep, judge, sweep};
use crate::core::words::{are, counted};
use crate::telemetry::labels::OrphanFinding;

/// Sweeps for as long as it is polled. All caches must be complete.
pub(crate) async fn sweeps(ctx: &Context) {
    let grace = Duration::try_from(ctx.settings.orphan_grace).unwrap_or(Duration::MAX);
    let mut sweeper = Sweeper {
        ctx,
        place: place(ctx),
        since: Since::default(),
        refused: BTreeSet::new(),
        reported: BTreeSet::new(),
    };
    loop {
        sweeper.sweep().await;
        sleep(grace).await;
    }
}

fn place(ctx: &Context) -> Place {
    let named = |scopes: &[Scope]| -> BTreeSet<String> {
        let names = scopes.iter().filter_map(|scope| match scope {
            Scope::All => None,
            Scope::Namespace(name) => Some(name.clone()),
        });
        names.collect()
    };
    Place {
        watch_namespaces: named(&ctx.world.pipeline_scopes),
        workload_namespace: ctx.pipelines.one_workload_namespace().map(str::to_owned),
    }
}

struct Sweeper<'a> {
    ctx: &'a Context,
    place: Place,
    since: Since,
    /// Uids of what the last sweep refused to remove, so that it is told once.
    refused: BTreeSet<String>,
    /// What was told to be kept: uid and finding.
    reported: BTreeSet<(String, OrphanFinding)>,
}

impl Sweeper<'_> {
    async fn sweep(&mut self) {
        let (objects, managed_pods) = self.ctx.world.unowned();
        let facts = match objects.as_slice() {
            [] => Facts::default(),
            objects => look(&self.ctx.client, &self.place, objects).await,
        };
        let findings: Vec<(Managed, Finding)> = objects
            .into_iter()
            .map(|object| {
                let finding = judge(&object, &facts);
                (object, finding)
            })
            .collect();
        self.report(&findings);
        let (grace, now) = (self.ctx.settings.orphan_grace, self.ctx.clock.now());
        let Sweep { remove, refused, since } = sweep(&findings, &self.since, managed_pods, grace, now);
        self.since = since;
        self.refuse(&refused, managed_pods).await;
        for object in &remove {
            self.remove(object).await;
        }
    }

    /// Counts what was found, and logs once what is kept and why.
    fn report(&mut self, findings: &[(Managed, Finding)]) {
        let mut counts = BTreeMap::new();
        let mut kept = BTreeSet::new();
        for (object, finding) in findings {
            let Some(label) = label(finding) else { continue };
            *counts.entry(label).or_default() += 1;
            if label == OrphanFinding::Orphan {
                continue;
            }
            let key = (object.uid.clone(), label);
            if !self.reported.contains(&key) {
                tracing::warn!(object = %object.in_words(), "kept, though no pipeline that is known owns it: {}", finding.in_words(object));
            }
            kept.insert(key);
        }
        self.reported = kept;
        self.ctx.metrics.orphans(&counts);
    }

    async fn refuse(&mut self, refused: &[Managed], managed_pods: usize) {
        let uids: BTreeSet<String> = refused.iter().map(|object| object.uid.clone()).collect();
        let told = uids.is_subset(&self.refused);
        self.refused = uids;
        let Some(first) = refused.first().filter(|_| !told) else {
            return;
        };
        let names: Vec<String> = refused.iter().map(Managed::in_words).collect();
        let message = format!(
            "{} {} not removed: more than 10 Pods, or more than a tenth of the {managed_pods} managed Pods, would \
             go at once. `streaming-operator orphans` lists them, with --delete it removes them. {}",
            counted(refused.len(), "orphan"),
            are(refused.len()),
            names.join(", ")
        );
        report::publish(self.ctx, &reference(first), NoticeReason::OrphanSweepRefused, &message).await;
    }

    async fn remove(&self, object: &Managed) {
        let Ok(_permit) = self.ctx.pod_writes.acquire().await else {
            return;
        };
        let what = format!("remove the orphan {}", object.in_words());
        match self.ctx.ask(&what, remove(&self.ctx.client, object)).await {
            Ok(false) => {}
            Ok(true) => {
                self.ctx.metrics.orphan_removed();
                let message = format!("Removed {}: {}", object.in_words(), Finding::Orphan.in_words(object));
                report::publish(self.ctx, &reference(object), NoticeReason::OrphanRemoved, &message).await;
            }
            // It is an orphan in the next sweep too.
            Err(failure) => tracing::warn!(
                "{}; tries again in {}",
                failure.in_words(),
                self.ctx.settings.orphan_grace
            ),
        }
    }
}

/// How a finding is counted; `None` for what is nobody's concern.
fn label(finding: &Finding) -> Option<OrphanFinding> {
    match finding {
        Finding::Owned | Finding::Predecessor => None,
        Finding::Orphan => Some(OrphanFinding::Orphan),
        Finding::Unnamed => Some(OrphanFinding::Unnamed),
        Finding::Unwatched => Some(OrphanFinding::Unwatched),
        Finding::Unknown(_) => Some(OrphanFinding::Unknown),
    }
}

fn reference(object: &Managed) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some(object.kind.as_str().to_owned()),
        name: Some(object.name.clone()),
        namespace: Some(object.namespace.clone()),
        uid: Some(object.uid.clone()),
        ..ObjectReference::default()
    }
}
