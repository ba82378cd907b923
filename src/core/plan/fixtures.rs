//! Builders for the tests of the planner and of the status.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::api::{OnFailure, PodReplacementPolicy, StreamingPipelineStatus};
use crate::core::health::{Health, Verdict, WaitingReason};
use crate::core::in_flight::Ledger;
use crate::core::names::{BaseName, PodName, Revision, WorkloadSet};
use crate::core::observed::{
    Legacy, LegacyDeployment, NamespaceState, ObjectFacts, Observed, Owner, PipelineFacts, PodFacts, PodState,
};
use crate::core::settings::Settings;

use super::wanted::Wanted;
use super::{AnalysisVerdict, Decision, Input, decide};

/// A second of the tests' time.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

/// The revision of ten times this hex digit.
pub(crate) fn revision(digit: char) -> Revision {
    Revision::parse(&digit.to_string().repeat(10)).expect("a hex digit")
}

/// A pipeline that wants this many Pods of revision a: base names `svc` and `svc-canary`, maxUnavailable 1.
pub(crate) fn wanted(replicas: u16) -> WantedBuilder {
    WantedBuilder(Wanted {
        revision: Some(revision('a')),
        config_map: Some("svc-a".to_owned()),
        primary: BaseName::parse("svc").expect("a base name"),
        canary: BaseName::parse("svc-canary"),
        replicas,
        with_canary: false,
        suspend: false,
        paused: false,
        max_unavailable: 1,
        min_ready: SignedDuration::ZERO,
        progress_deadline: SignedDuration::from_secs(600),
        policy: PodReplacementPolicy::TerminatingOrFailed,
        restart_at: None,
        require_analysis: false,
        on_failure: OnFailure::Pause,
        history_limit: 10,
    })
}

pub(crate) struct WantedBuilder(Wanted);

impl WantedBuilder {
    pub(crate) fn build(self) -> Wanted {
        self.0
    }
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Wanted)) -> Self {
        change(&mut self.0);
        self
    }
    pub(crate) fn revision(self, digit: char) -> Self {
        self.with(|wanted| {
            wanted.revision = Some(revision(digit));
            wanted.config_map = Some(format!("svc-{digit}"));
        })
    }
    pub(crate) fn max_unavailable(self, number: u16) -> Self {
        self.with(|wanted| wanted.max_unavailable = number)
    }
    pub(crate) fn policy(self, policy: PodReplacementPolicy) -> Self {
        self.with(|wanted| wanted.policy = policy)
    }
    pub(crate) fn suspend(self) -> Self {
        self.with(|wanted| wanted.suspend = true)
    }
    pub(crate) fn canary(self) -> Self {
        self.with(|wanted| wanted.with_canary = true)
    }
    pub(crate) fn paused(self) -> Self {
        self.with(|wanted| wanted.paused = true)
    }
}

/// A Pod of ours of this name and revision that has been available since second 0.
pub(crate) fn pod(name: &str, digit: char) -> PodBuilder {
    let parsed = PodName::parse(name).expect("a Pod name");
    let set = if parsed.base.as_str() == "svc-canary" {
        crate::core::names::WorkloadSet::Canary
    } else {
        crate::core::names::WorkloadSet::Primary
    };
    PodBuilder(PodFacts {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        owner: Owner::Ours,
        place: Some((set, parsed.ordinal)),
        revision: Some(revision(digit)),
        created: at(-10),
        state: PodState::Live,
        ready: true,
        available_since: Some(at(0)),
        available_at: None,
        phase: "Running".to_owned(),
        health: Health {
            verdict: Verdict::Ready,
            ..Health::just_created()
        },
        failures: 0,
        config_maps: BTreeSet::from([format!("svc-{digit}")]),
    })
}

pub(crate) struct PodBuilder(PodFacts);

impl PodBuilder {
    pub(crate) fn build(self) -> PodFacts {
        self.0
    }
    pub(crate) fn with(mut self, change: impl FnOnce(&mut PodFacts)) -> Self {
        change(&mut self.0);
        self
    }
    /// Live, and waiting for this reason.
    pub(crate) fn waits(self, reason: &str) -> Self {
        self.with(|pod| {
            pod.ready = false;
            pod.available_since = None;
            pod.phase = "Pending".to_owned();
            pod.health.verdict = Verdict::Waiting(WaitingReason::parse(reason));
        })
    }
    /// Live, and reported with this reason and message.
    pub(crate) fn reported(self, reason: &str, message: &str) -> Self {
        self.waits(reason).with(|pod| {
            pod.health.report = true;
            pod.health.message = Some(message.to_owned());
        })
    }
    /// Ended with an error at this second.
    pub(crate) fn failed(self, second: i64) -> Self {
        self.waits("Pending").with(|pod| {
            pod.state = PodState::Ended;
            pod.phase = "Failed".to_owned();
            pod.health.verdict = Verdict::Failed("Error".to_owned());
            pod.health.report = true;
            pod.health.replace = true;
            pod.health.failed_at = Some(at(second));
        })
    }
    pub(crate) fn terminating(self) -> Self {
        self.waits("Pending").with(|pod| {
            pod.state = PodState::Terminating;
            pod.health.verdict = Verdict::Terminating;
        })
    }
    pub(crate) fn failures(self, number: u32) -> Self {
        self.with(|pod| pod.failures = number)
    }
    pub(crate) fn predecessors(self) -> Self {
        self.with(|pod| pod.owner = Owner::Predecessor)
    }
}

/// A Deployment of the Python operator with so many consumers, all available, left alone since long ago.
pub(crate) fn legacy_deployment(replicas: usize) -> LegacyDeployment {
    LegacyDeployment {
        namespace: "ns".to_owned(),
        name: "legacy".to_owned(),
        uid: "uid-of-legacy".to_owned(),
        resource_version: "1".to_owned(),
        given: replicas,
        wrote: Some(replicas),
        claimed: Some(at(-1000)),
        claimed_again: false,
        applied: false,
        rolling: None,
        set_back: None,
        set: WorkloadSet::Primary,
        deleting: false,
        available: replicas,
        unavailable: 0,
        terminating: 0,
        available_at: None,
    }
}

/// A ControllerRevision of ours, with the ConfigMap that its Pods mount.
pub(crate) fn stored(digit: char) -> ObjectFacts {
    ObjectFacts {
        name: format!("svc-{}", revision(digit)),
        uid: format!("uid-of-revision-{digit}"),
        owner: Owner::Ours,
        revision: Some(revision(digit)),
        created: at(-100),
        completed: None,
        config_map: Some(format!("svc-{digit}")),
        deleting: false,
    }
}

/// A ConfigMap of ours.
pub(crate) fn config_map(digit: char) -> ObjectFacts {
    ObjectFacts {
        name: format!("svc-{digit}"),
        uid: format!("uid-of-config-map-{digit}"),
        config_map: None,
        ..stored(digit)
    }
}

/// What was seen: these Pods, and the ControllerRevisions and ConfigMaps of these revisions.
pub(crate) fn observed(pods: Vec<PodBuilder>, stored_revisions: &str) -> Observed {
    let pods: Vec<PodFacts> = pods.into_iter().map(PodBuilder::build).collect();
    Observed {
        names: pods.iter().filter_map(|pod| PodName::parse(&pod.name)).collect(),
        pods,
        config_maps: stored_revisions.chars().map(config_map).collect(),
        revisions: stored_revisions.chars().map(stored).collect(),
        in_the_way: BTreeSet::new(),
        collision: None,
        namespace: NamespaceState::Active,
        legacy: Legacy::default(),
    }
}

/// A pipeline of generation 3 in namespace `ns`, whose Pods run there too.
pub(crate) fn pipeline() -> PipelineFacts {
    PipelineFacts {
        namespace: "ns".to_owned(),
        name: "pipeline".to_owned(),
        uid: "uid".to_owned(),
        generation: Some(3),
        deleting: false,
        has_finalizer: false,
        annotations: BTreeMap::new(),
        workload_namespace: "ns".to_owned(),
    }
}

/// A status in which revision `current` is current and `update` the spec's, with progress at second 0.
pub(crate) fn recorded(current: Option<char>, update: char) -> StreamingPipelineStatus {
    StreamingPipelineStatus {
        observed_generation: Some(3),
        current_revision: current.map(|digit| revision(digit).to_string()),
        update_revision: Some(revision(update).to_string()),
        rollout: Some(crate::api::status::RolloutStatus {
            last_progress_time: Some(at(0).to_string()),
            ..crate::api::status::RolloutStatus::default()
        }),
        ..StreamingPipelineStatus::default()
    }
}

/// Everything a decision is made from; dry runs are accepted.
pub(crate) struct Case {
    pub(crate) pipeline: PipelineFacts,
    pub(crate) wanted: Wanted,
    pub(crate) observed: Observed,
    pub(crate) previous: StreamingPipelineStatus,
    pub(crate) ledger: Ledger,
    pub(crate) analysis: AnalysisVerdict,
    pub(crate) settings: Settings,
}

impl Case {
    pub(crate) fn new(wanted: WantedBuilder, observed: Observed, previous: StreamingPipelineStatus) -> Self {
        let wanted = wanted.build();
        let mut ledger = Ledger::default();
        if let Some(revision) = &wanted.revision {
            ledger.dry_run_accepted(revision);
        }
        Self {
            pipeline: pipeline(),
            wanted,
            observed,
            previous,
            ledger,
            analysis: AnalysisVerdict::None,
            settings: Settings::default(),
        }
    }

    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.pipeline.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn decide(&self, second: i64) -> Decision {
        let input = Input {
            pipeline: &self.pipeline,
            wanted: Some(&self.wanted),
            observed: &self.observed,
            previous: &self.previous,
            ledger: &self.ledger,
            analysis: &self.analysis,
            settings: &self.settings,
        };
        decide(&input, at(second))
    }

    /// The actions in short: `+name=digit` a Pod made (with `!n` failures), `-name` one deleted, others by their kind.
    pub(crate) fn actions(&self, second: i64) -> String {
        let actions = self.decide(second).actions;
        actions.iter().map(short).collect::<Vec<_>>().join(" ")
    }
}

fn short(action: &super::Action) -> String {
    use super::Action;
    let digit = |revision: &Revision| revision.as_str().chars().next().expect("ten digits");
    match action {
        Action::AddFinalizer => "+finalizer".to_owned(),
        Action::RemoveFinalizer => "-finalizer".to_owned(),
        Action::CreateRevision { name, .. } => format!("+revision:{name}"),
        Action::CreateConfigMap { name, .. } => format!("+map:{name}"),
        Action::DryRunPod(plan) => format!("?{}={}", plan.name, digit(&plan.revision)),
        Action::CreatePod(plan) if plan.failures > 0 => {
            format!("+{}={}!{}", plan.name, digit(&plan.revision), plan.failures)
        }
        Action::CreatePod(plan) => format!("+{}={}", plan.name, digit(&plan.revision)),
        Action::DeletePod(delete) if delete.force => format!("-{}(force)", delete.name),
        Action::DeletePod(delete) => format!("-{}", delete.name),
        Action::DeleteConfigMap { name, .. } => format!("-map:{name}"),
        Action::DeleteRevision { name, .. } => format!("-revision:{name}"),
        Action::ClaimLegacy(claim) => format!("claim:{}={}", claim.name, claim.replicas),
        Action::ScaleLegacy(scale) => format!("{}:{}>{}", scale.name, scale.from, scale.to),
        Action::SetBackLegacy(back) => format!("{}<{}", back.name, back.to),
        Action::DeleteLegacy { name, .. } => format!("-deployment:{name}"),
        Action::DeleteLegacyConfigMap { name, .. } => format!("-legacy-map:{name}"),
        Action::RemoveLegacyMarks => "-marks".to_owned(),
        Action::MarkCompleted { revision, .. } => format!("completed:{}", digit(revision)),
    }
}
