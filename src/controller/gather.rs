//! Collects what a pass is decided from: the pipeline as it is to be looked at, what its spec renders to, and what the
//! caches show. Asks the API server only where the caches cannot know: what became of writes that got no answer, and how
//! a namespace is in which a write was refused. Must never decide.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::core::PartialObjectMeta;

use super::context::Context;
use super::errors::{Class, Failure};
use super::legacy;
use super::world::Look;
use crate::api::meta::LABEL_OWNER_UID;
use crate::api::rollout_analysis::TargetKind;
use crate::api::{StoredAnalysis, StoredPipeline, StreamingPipelineStatus};
use crate::caches::id_of;
use crate::core::analysis::gate::{Guard, Question, verdict};
use crate::core::analysis::valid::ValidAnalysis;
use crate::core::in_flight::Ledger;
use crate::core::names::Revision;
use crate::core::observed::{Observed, Owner, PipelineFacts};
use crate::core::plan::{AnalysisVerdict, Bases, Input, Orders, Wanted};
use crate::core::render::{Rendered, render};
use crate::core::stored_revision::StoredRevision;
use crate::core::valid::ValidPipeline;

/// What a pass is decided from.
pub struct View {
    /// The time of the pass.
    pub now: Timestamp,
    /// The pipeline, as newest known.
    pub stored: Arc<StoredPipeline>,
    /// Its facts.
    pub pipeline: PipelineFacts,
    /// What its spec asks for.
    pub spec: SpecView,
    /// What was seen.
    pub observed: Observed,
    /// The ledger as it was then.
    pub ledger: Ledger,
    /// What the analyses say of its update revision.
    pub analysis: AnalysisVerdict,
}

/// What a spec asks for, and what it renders to.
pub struct SpecView {
    /// `None` when it cannot be read.
    pub wanted: Option<Wanted>,
    /// `None` when it cannot be rendered.
    pub rendered: Option<RenderedSpec>,
    /// Why not, each fault with its path.
    pub faults: Vec<String>,
}

/// What a spec renders to.
pub struct RenderedSpec {
    /// Its revision.
    pub revision: Revision,
    /// All that is created for it.
    pub rendered: Rendered,
    /// What is kept of it.
    pub stored: Arc<StoredRevision>,
}

/// Collects; `None` when there is nothing to look at (the object was never stored).
pub async fn gather(ctx: &Context, cached: Arc<StoredPipeline>, now: Timestamp) -> Result<Option<View>, Failure> {
    let stored = ctx.world.newest(cached);
    let namespace = stored.metadata.namespace.as_deref().unwrap_or_default();
    let workload_namespace = ctx.pipelines.workload_namespace(namespace);
    let Some(pipeline) = PipelineFacts::read(&stored.metadata, workload_namespace) else {
        return Ok(None);
    };
    settle_unanswered(ctx, &pipeline).await?;
    let spec = read_spec(&stored, &pipeline.name);
    let left = legacy::read(ctx, &stored, &pipeline, spec.wanted.as_ref()).await?;
    let look = Look {
        facts: &pipeline,
        wanted: spec.wanted.as_ref(),
        namespace: ctx.namespaces.state(&ctx.client, &pipeline.workload_namespace).await,
        settings: &ctx.settings,
        now,
    };
    let (observed, ledger) = ctx.world.observe(&stored, &look);
    let observed = observed.with_legacy(left.legacy, &left.pods, spec.wanted.as_ref(), &ctx.settings, now);
    let analysis = analysis(ctx, &stored, &pipeline, &spec, now);
    Ok(Some(View {
        now,
        stored,
        pipeline,
        spec,
        observed,
        ledger,
        analysis,
    }))
}

impl View {
    /// The input of the decision.
    #[must_use]
    pub fn input<'a>(&'a self, ctx: &'a Context) -> Input<'a> {
        Input {
            pipeline: &self.pipeline,
            wanted: self.spec.wanted.as_ref(),
            observed: &self.observed,
            previous: self.previous(),
            ledger: &self.ledger,
            analysis: &self.analysis,
            settings: &ctx.settings,
        }
    }

    /// The namespace of the Pod with this uid: the old one for a Pod that was found there.
    #[must_use]
    pub fn namespace_of(&self, uid: &str) -> &str {
        let mut pods = self.observed.pods.iter();
        let is_left = pods.any(|pod| pod.uid == uid && pod.owner == Owner::OldNamespace);
        let old = self.observed.legacy.old_namespace.as_ref().filter(|_| is_left);
        old.unwrap_or(&self.pipeline.workload_namespace)
    }

    /// The status as stored.
    #[must_use]
    pub fn previous(&self) -> &StreamingPipelineStatus {
        &self.stored.status
    }
}

/// What the analyses say of the revision that the spec asks for.
///
/// When that is another one than the status has, this pass begins with it: what they said of an earlier attempt at it is
/// over, and none has a say before it has begun afresh.
fn analysis(
    ctx: &Context,
    stored: &StoredPipeline,
    pipeline: &PipelineFacts,
    spec: &SpecView,
    now: Timestamp,
) -> AnalysisVerdict {
    let update = stored.status.update_revision.as_deref();
    let wanted = spec.rendered.as_ref().map(|rendered| rendered.revision.as_str());
    if wanted.is_some_and(|wanted| update != Some(wanted)) {
        ctx.analyses.new_attempt(&id_of(&stored.metadata));
    }
    let found = ctx
        .analyses
        .of_target(&pipeline.namespace, TargetKind::StreamingPipeline, &pipeline.name);
    let read: Vec<_> = found.iter().map(|analysis| (analysis, valid(analysis))).collect();
    let guards: Vec<Guard<'_>> = read
        .iter()
        .map(|(stored, analysis)| Guard {
            name: stored.metadata.name.as_deref().unwrap_or_default(),
            analysis: analysis.as_ref(),
            status: &stored.status,
            is_behind: stored
                .metadata
                .uid
                .as_deref()
                .is_some_and(|uid| ctx.analyses.is_behind(uid)),
        })
        .collect();
    let resume = Orders::read(&pipeline.annotations).resume;
    let question = Question {
        uid: &pipeline.uid,
        revision: wanted.or(update).unwrap_or_default(),
        resume: resume.as_ref().map(|(revision, time)| (revision.as_str(), *time)),
        now,
    };
    verdict(&guards, &question)
}

fn valid(analysis: &StoredAnalysis) -> Option<ValidAnalysis> {
    let spec = analysis.spec.as_ref().as_ref().ok()?;
    ValidAnalysis::parse(spec).ok()
}

fn read_spec(stored: &StoredPipeline, name: &str) -> SpecView {
    let spec = match stored.spec.read() {
        Ok(spec) => spec,
        Err(fault) => {
            return SpecView {
                wanted: None,
                rendered: None,
                faults: vec![format!("{}: {}", fault.path, fault.message)],
            };
        }
    };
    let pipeline = match ValidPipeline::parse(name, &spec) {
        Ok(pipeline) => pipeline,
        Err(violations) => {
            return SpecView {
                wanted: Bases::of(name, &spec).map(|bases| Wanted::new(&spec, bases, None)),
                rendered: None,
                faults: violations.iter().map(ToString::to_string).collect(),
            };
        }
    };
    let rendered = render(&pipeline);
    let bases = Bases {
        primary: rendered.primary.base.clone(),
        canary: rendered.canary.as_ref().map(|canary| canary.base.clone()),
    };
    let revision = pipeline.revision().clone();
    let mounted = (revision.clone(), rendered.config.name.clone());
    SpecView {
        wanted: Some(Wanted::new(&spec, bases, Some(mounted))),
        rendered: Some(RenderedSpec {
            revision,
            stored: Arc::new(StoredRevision::new(pipeline.spec(), &rendered)),
            rendered,
        }),
        faults: Vec::new(),
    }
}

/// Finds out what became of creates and deletes that got no answer, so that the ledger holds facts.
async fn settle_unanswered(ctx: &Context, pipeline: &PipelineFacts) -> Result<(), Failure> {
    let (creates, deletes) = ctx.world.remember(pipeline, |memory| {
        let creates: Vec<String> = memory.ledger.unanswered().map(str::to_owned).collect();
        (creates, memory.unanswered_deletes.clone())
    });
    for name in creates {
        let found = find_pod(ctx, &pipeline.workload_namespace, &name).await?;
        let ours = found.filter(|pod| owner_uid(pod) == Some(&pipeline.uid));
        ctx.world
            .remember(pipeline, |memory| match ours.and_then(|pod| pod.metadata.uid) {
                Some(uid) => memory.ledger.created(&name, &uid),
                None => memory.ledger.not_created(&name),
            });
    }
    for (uid, name) in deletes {
        let found = find_pod(ctx, &pipeline.workload_namespace, &name).await?;
        let this = found.filter(|pod| pod.metadata.uid.as_ref() == Some(&uid));
        ctx.world.remember(pipeline, |memory| {
            match this {
                Some(pod) if pod.metadata.deletion_timestamp.is_none() => memory.ledger.not_deleted(&uid),
                _ => memory.ledger.deleted(&uid),
            }
            memory.unanswered_deletes.remove(&uid);
        });
    }
    Ok(())
}

/// The metadata of a Pod as the API server has it now.
pub async fn find_pod(ctx: &Context, namespace: &str, name: &str) -> Result<Option<PartialObjectMeta<Pod>>, Failure> {
    let api = Api::<Pod>::namespaced(ctx.client.clone(), namespace);
    let what = format!("read Pod {namespace}/{name}");
    match ctx.ask(&what, api.get_metadata(name)).await {
        Ok(pod) => Ok(Some(pod)),
        Err(failure) if failure.class() == Class::NotFound => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn owner_uid(pod: &PartialObjectMeta<Pod>) -> Option<&String> {
    pod.metadata.labels.as_ref()?.get(LABEL_OWNER_UID)
}
