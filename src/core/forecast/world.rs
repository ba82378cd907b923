//! A pipeline with its Pods and objects in memory, for the planner to work on: every new Pod becomes available, every
//! deleted one goes. Must never decide: it does what the planner says, and keeps the status as the controller does.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::Step;
use crate::api::StreamingPipelineStatus;
use crate::core::health::{Health, Verdict};
use crate::core::in_flight::Ledger;
use crate::core::names::{BaseName, PodName, REPLICAS_MAX, Revision, WorkloadSet};
use crate::core::observed::{
    Legacy, LegacyDeployment, NamespaceState, ObjectFacts, Observed, Owner, PipelineFacts, PodState,
};
use crate::core::plan::{
    Action, ActionResult, AnalysisVerdict, Bases, Decision, HoldBy, Input, Outcome, Phase, Wanted, decide,
};
use crate::core::settings::{Settings, later};
use crate::core::status::{StatusInput, status};
use crate::core::valid::ValidPipeline;

/// Most passes of a run: a rollout takes at most three a Pod (deleted, made, seen available), and some around it.
const PASSES_MAX: usize = 3 * REPLICAS_MAX as usize + 50;

/// A pipeline in memory.
pub(super) struct World {
    /// The time; it moves on with each pass.
    now: Timestamp,
    pipeline: PipelineFacts,
    wanted: Option<Wanted>,
    observed: Observed,
    status: StreamingPipelineStatus,
    ledger: Ledger,
    analysis: AnalysisVerdict,
    settings: Settings,
}

/// What happened in a run.
#[derive(Default)]
pub(super) struct Told {
    pub(super) actions: Vec<Action>,
    pub(super) steps: Vec<Step>,
    pub(super) phase: Phase,
    pub(super) holds: Vec<HoldBy>,
}

impl World {
    /// A pipeline that is not there yet.
    pub(super) fn new(namespace: &str, name: &str, now: Timestamp) -> Self {
        Self {
            now,
            pipeline: PipelineFacts {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                uid: "in memory".to_owned(),
                generation: Some(0),
                deleting: false,
                has_finalizer: false,
                annotations: BTreeMap::new(),
                workload_namespace: namespace.to_owned(),
            },
            wanted: None,
            observed: Observed {
                pods: Vec::new(),
                config_maps: Vec::new(),
                revisions: Vec::new(),
                names: BTreeSet::new(),
                in_the_way: BTreeSet::new(),
                collision: None,
                namespace: NamespaceState::Active,
                legacy: Legacy::default(),
            },
            status: StreamingPipelineStatus::default(),
            ledger: Ledger::default(),
            analysis: AnalysisVerdict::None,
            settings: Settings::default(),
        }
    }

    /// A person applies a spec; of its `restartAt` only what is given here counts.
    pub(super) fn edit(&mut self, pipeline: &ValidPipeline, restart_at: Option<Timestamp>) {
        let base = |set| pipeline.base(set).cloned();
        let primary: BaseName = pipeline.primary_base().clone();
        let bases = Bases {
            primary,
            canary: base(WorkloadSet::Canary),
        };
        let rendered = (pipeline.revision().clone(), pipeline.rendered().config.name.clone());
        self.wanted = Some(Wanted {
            restart_at,
            ..Wanted::new(pipeline.spec(), bases, Some(rendered))
        });
        self.pipeline.generation = self.pipeline.generation.map(|generation| generation + 1);
    }

    /// Every Pod was created, and became available, no later than at `time`.
    pub(super) fn age_pods(&mut self, time: Timestamp) {
        for pod in &mut self.observed.pods {
            pod.created = pod.created.min(time);
        }
    }

    /// The pipeline has these Deployments of the Python operator.
    pub(super) fn take_over(&mut self, deployments: Vec<LegacyDeployment>) {
        self.observed.legacy.deployments = deployments;
    }

    /// Consumers that its Deployments are to have.
    pub(super) fn legacy(&self) -> usize {
        let deployments = self.observed.legacy.deployments.iter();
        deployments.map(|deployment| deployment.given).sum()
    }

    /// Number of places with an available Pod, and of available consumers of the Python operator.
    pub(super) fn available(&self) -> usize {
        let available = self.observed.pods.iter().filter(|pod| pod.is_available());
        let places = available.map(|pod| pod.place).collect::<BTreeSet<_>>();
        places.len() + self.observed.legacy.available()
    }

    /// Number of consumers that are not on their way out.
    fn consumers(&self) -> usize {
        let live = self.observed.pods.iter().filter(|pod| pod.is_live());
        // What was taken off is on its way out, but in a rolling update more are there than the number.
        let beyond = self
            .observed
            .legacy
            .deployments
            .iter()
            .filter(|deployment| deployment.rolling.is_some());
        let beyond: usize = beyond
            .map(|deployment| deployment.shown().saturating_sub(deployment.given))
            .sum();
        live.count() + self.legacy() + beyond
    }

    /// Passes until nothing is left to do.
    pub(super) fn run(&mut self) -> Told {
        let mut told = Told::default();
        let mut after_analysis = false;
        for _ in 0..PASSES_MAX {
            let was = self.status.clone();
            let Some(decision) = self.decision() else { break };
            told.phase = decision.facts.phase;
            told.holds = decision.facts.holds.iter().map(|hold| hold.by).collect();
            let mut step = self.pass(&decision);
            if step != Step::default() {
                step.available = self.available();
                step.consumers = self.consumers();
                step.after_analysis = std::mem::take(&mut after_analysis);
                told.steps.push(step);
            }
            self.settle();
            let is_quiet = decision.actions.is_empty() && self.status == was;
            told.actions.extend(decision.actions);
            if is_quiet && told.phase == Phase::AwaitingAnalysis && self.analysis != AnalysisVerdict::Passed {
                self.analysis = AnalysisVerdict::Passed;
                after_analysis = true;
            } else if is_quiet {
                break;
            }
        }
        self.analysis = AnalysisVerdict::None;
        told
    }

    fn decision(&self) -> Option<Decision> {
        let input = Input {
            pipeline: &self.pipeline,
            wanted: Some(self.wanted.as_ref()?),
            observed: &self.observed,
            previous: &self.status,
            ledger: &self.ledger,
            analysis: &self.analysis,
            settings: &self.settings,
        };
        Some(decide(&input, self.now))
    }

    /// Does what was decided, and writes the status down.
    fn pass(&mut self, decision: &Decision) -> Step {
        let mut step = Step::default();
        for action in &decision.actions {
            self.apply(action, &mut step);
        }
        let results = decision.actions.iter().cloned();
        let outcome = Outcome {
            results: results.map(|action| (action, ActionResult::Done)).collect(),
        };
        let input = StatusInput {
            pipeline: &self.pipeline,
            wanted: self.wanted.as_ref(),
            config_version: None,
            render_faults: &[],
            observed: &self.observed,
            facts: &decision.facts,
            outcome: Some(&outcome),
            previous: &self.status,
            settings: &self.settings,
        };
        self.status = status(&input, self.now);
        self.observed = self.observed.after(&outcome, self.now);
        step
    }

    /// What is not done by [`Observed::after`].
    fn apply(&mut self, action: &Action, step: &mut Step) {
        match action {
            Action::CreatePod(plan) => step.created.push((plan.name.to_string(), plan.why)),
            Action::DeletePod(delete) => step.deleted.push((delete.name.clone(), delete.why)),
            Action::DryRunPod(plan) => self.ledger.dry_run_accepted(&plan.revision),
            Action::CreateRevision { revision, name } => {
                let mut object = self.object(name, revision);
                object.config_map = self.wanted.as_ref().and_then(|wanted| wanted.config_map.clone());
                self.observed.revisions.push(object);
            }
            Action::CreateConfigMap { revision, name } => {
                let object = self.object(name, revision);
                self.observed.config_maps.push(object);
            }
            Action::DeleteConfigMap { uid, .. } => self.observed.config_maps.retain(|object| object.uid != *uid),
            Action::DeleteRevision { uid, .. } => self.observed.revisions.retain(|object| object.uid != *uid),
            Action::MarkCompleted { name, at, .. } => {
                for object in self.observed.revisions.iter_mut().filter(|object| object.name == *name) {
                    object.completed = Some(*at);
                }
            }
            Action::ScaleLegacy(scale) => step.scaled.push(scale.clone()),
            Action::SetBackLegacy(back) => step
                .set_back
                .push(format!("Deployment {}/{}", back.namespace, back.name)),
            Action::DeleteLegacy { namespace, name, .. } => {
                step.removed.push(format!("Deployment {namespace}/{name}"));
            }
            // No Pod runs in another namespace here, and the rest is done by `Observed::after`.
            Action::AddFinalizer
            | Action::RemoveFinalizer
            | Action::ClaimLegacy(_)
            | Action::DeleteLegacyConfigMap { .. }
            | Action::RemoveLegacyMarks => {}
        }
    }

    fn object(&self, name: &str, revision: &Revision) -> ObjectFacts {
        ObjectFacts {
            name: name.to_owned(),
            uid: name.to_owned(),
            owner: Owner::Ours,
            revision: Some(revision.clone()),
            created: self.now,
            completed: None,
            config_map: None,
            deleting: false,
        }
    }

    /// A second later: deleted Pods are gone, new ones available.
    fn settle(&mut self) {
        self.now = later(self.now, SignedDuration::from_secs(1));
        self.observed.pods.retain(|pod| pod.state == PodState::Live);
        for pod in self.observed.pods.iter_mut().filter(|pod| !pod.ready) {
            pod.uid.clone_from(&pod.name);
            pod.ready = true;
            pod.available_since = Some(self.now);
            "Running".clone_into(&mut pod.phase);
            pod.health = Health {
                verdict: Verdict::Ready,
                ..Health::just_created()
            };
        }
        self.observed.legacy.deployments.iter_mut().for_each(settled);
        let names = self.observed.pods.iter().filter_map(|pod| PodName::parse(&pod.name));
        self.observed.names = names.collect();
    }
}

/// What its controller makes of a Deployment in a second. Pods that do not become available never do, but in one that was
/// set back to those that serve.
fn settled(deployment: &mut LegacyDeployment) {
    if deployment.set_back.is_some() && deployment.rolling.take().is_some() {
        deployment.available = deployment.given;
    }
    if deployment.rolling.is_some() && deployment.given > 0 {
        return;
    }
    deployment.rolling = None;
    deployment.available = deployment.available.min(deployment.given);
    deployment.unavailable = deployment.given - deployment.available;
}
