//! The product's own planner at the controls: a state of the model becomes the objects that [`plan::decide`] takes, and
//! what it plans becomes writes of the model.
//!
//! The Pods go through the product's own view of them (labels, health, own writes that the cache does not show), so
//! that is explored too. Must never decide anything, nor correct what the planner says.

mod back;
mod objects;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use streaming_operator::api::status::{FailedRevision, RolloutStatus};
use streaming_operator::api::{OnFailure, PodReplacementPolicy, StreamingPipelineStatus, meta};
use streaming_operator::core::in_flight::Ledger;
use streaming_operator::core::names::{BaseName, WorkloadSet};
use streaming_operator::core::observed::{
    Gathered, Legacy, LegacyDeployment, NamespaceState, Observed, PipelineFacts, Rolling,
};
use streaming_operator::core::plan::{self, Action, AnalysisVerdict, CreateReason, Decision, PodPlan, Wanted};
use streaming_operator::core::settings::Settings;

use crate::config::{Config, Start};
use crate::planner::{Pass, Planner};
use crate::state::{Analysis, CANARY, Place, State};

use objects::{Pods, Role, UID, at, first, name, revision, uid};

/// The deadline: shorter than every grace and every other wait, so that no other wake comes first and the planner's next one tells whether
/// the clock runs.
const DEADLINE: SignedDuration = SignedDuration::from_millis(900);
/// A time before now by which that deadline, and the 300 s, are over.
const LONG_AGO: i64 = -1000;

/// The product's planner for one configuration.
pub(crate) struct Product {
    config: Config,
    pods: Pods,
    pipeline: PipelineFacts,
    settings: Settings,
    /// ControllerRevisions by which revisions completed, and which is current.
    revisions: BTreeMap<(u8, u8), Vec<ObjectMeta>>,
    /// Whether own writes that the cache does not show are remembered; without that it is a planted defect.
    remembers: bool,
    /// What was decided before: many states differ only in what a planner cannot see.
    decided: RefCell<HashMap<u128, Pass>>,
}

impl Planner for Product {
    fn pass(&self, seen: &State) -> Pass {
        let key = seen.as_seen().pack();
        if let Some(pass) = self.decided.borrow().get(&key) {
            return pass.clone();
        }
        let pass = self.decide(seen);
        self.decided.borrow_mut().insert(key, pass.clone());
        pass
    }
}

impl Product {
    pub(crate) fn new(config: Config) -> Self {
        let current_and_completed = (0..=3).flat_map(|current| (0..16).map(move |completed| (completed, current)));
        let revisions =
            current_and_completed.map(|(completed, current)| ((completed, current), stored(completed, current)));
        Self {
            config,
            pods: Pods::new(),
            pipeline: pipeline(),
            settings: Settings::default(),
            revisions: revisions.collect(),
            remembers: true,
            decided: RefCell::default(),
        }
    }

    /// The same with a defect: it forgets own writes that the cache does not show.
    pub(crate) fn forgetful(config: Config) -> Self {
        Self {
            remembers: false,
            ..Self::new(config)
        }
    }

    fn decide(&self, seen: &State) -> Pass {
        let mut ledger = self.ledger(seen);
        let decision = self.ask(seen, &ledger);
        // Until the dry run is answered the planner wants to look again at once; the clocks show in the pass after it.
        let wake = match decision.actions.iter().find_map(dry_run) {
            Some(plan) => {
                ledger.dry_run_accepted(&plan.revision);
                self.ask(seen, &ledger).wake_after
            }
            None => decision.wake_after,
        };
        back::pass(seen, &decision, wake == Some(DEADLINE))
    }

    fn ask(&self, seen: &State, ledger: &Ledger) -> Decision {
        let wanted = wanted(seen, &self.config);
        let shown = in_cache(seen);
        let gathered = Gathered {
            pods: self.shown(&shown),
            config_maps: Vec::new(),
            revisions: self.revisions[&(seen.completed, seen.current)].iter().collect(),
            live_owners: BTreeSet::new(),
            collision: None,
            namespace: NamespaceState::Active,
        };
        let observed = Observed::new(&self.pipeline, Some(&wanted), &gathered, ledger, &self.settings, at(0));
        let observed = observed.with_legacy(legacy(seen), &[], Some(&wanted), &self.settings, at(0));
        let input = plan::Input {
            pipeline: &self.pipeline,
            wanted: Some(&wanted),
            observed: &observed,
            previous: &recorded(seen),
            ledger,
            analysis: &verdict(seen, &self.config),
            settings: &self.settings,
        };
        plan::decide(&input, at(0))
    }

    fn shown(&self, state: &State) -> Vec<&Pod> {
        self.pods.of(state, self.config.start == Start::Restart)
    }

    /// What the operator remembers: the answer to its dry run, and the write that its cache does not show.
    fn ledger(&self, seen: &State) -> Ledger {
        let mut ledger = Ledger::default();
        if seen.tried > 0 {
            ledger.dry_run_accepted(&revision(seen.tried));
        }
        let Some(hidden) = seen.hidden.filter(|_| self.remembers) else {
            return ledger;
        };
        if hidden.deleted > 0 {
            let gone = uid(hidden.place, Role::First(hidden.deleted));
            ledger.deleting(&gone);
            ledger.deleted(&gone);
            return ledger;
        }
        let role = first(seen, hidden.place, false);
        let plan = PodPlan {
            name: name(hidden.place, role),
            set: if hidden.place == CANARY {
                WorkloadSet::Canary
            } else {
                WorkloadSet::Primary
            },
            revision: revision(seen.places[hidden.place].revision()),
            failures: 0,
            why: CreateReason::Missing,
            replaces: None,
        };
        ledger.creating(&plan, at(-30));
        ledger.created(&plan.name.to_string(), &uid(hidden.place, role));
        ledger
    }
}

/// The Deployment of the Python operator as it is read. Each pass reads it anew, so it is never behind.
fn legacy(seen: &State) -> Legacy {
    let there = seen.legacy;
    let deployment = LegacyDeployment {
        namespace: "ns".to_owned(),
        name: "legacy".to_owned(),
        uid: "uid-of-the-deployment".to_owned(),
        resource_version: "1".to_owned(),
        given: there.given.into(),
        wrote: Some(there.given.into()),
        claimed: Some(at(-5000)),
        claimed_again: false,
        applied: false,
        rolling: there.rolling.then(|| Rolling {
            progressed: None,
            back_to: Some("before".to_owned()),
        }),
        set_back: None,
        set: WorkloadSet::Primary,
        deleting: false,
        available: there.available.into(),
        unavailable: there.unavailable.into(),
        terminating: there.terminating.into(),
        available_at: None,
    };
    Legacy {
        deployments: there.is_there.then_some(deployment).into_iter().collect(),
        ..Legacy::default()
    }
}

fn dry_run(action: &Action) -> Option<&PodPlan> {
    match action {
        Action::DryRunPod(plan) => Some(plan),
        _ => None,
    }
}

/// The state as the cache shows it: without the last write, where that is hidden.
fn in_cache(state: &State) -> State {
    let mut shown = *state;
    let Some(hidden) = state.hidden else { return shown };
    let there: &mut Place = &mut shown.places[hidden.place];
    there.live = hidden.deleted;
    if hidden.deleted > 0 {
        there.terminating = there.terminating.saturating_sub(1);
    }
    shown
}

fn pipeline() -> PipelineFacts {
    PipelineFacts {
        namespace: "ns".to_owned(),
        name: "pipeline".to_owned(),
        uid: UID.to_owned(),
        generation: Some(1),
        deleting: false,
        has_finalizer: false,
        annotations: BTreeMap::new(),
        workload_namespace: "ns".to_owned(),
    }
}

fn wanted(state: &State, config: &Config) -> Wanted {
    Wanted {
        revision: Some(revision(state.revision)),
        config_map: None,
        primary: BaseName::parse("svc").expect("a base name"),
        canary: BaseName::parse("svc-canary"),
        replicas: state.replicas.into(),
        with_canary: state.with_canary,
        suspend: state.suspend,
        paused: state.paused,
        max_unavailable: config.max_unavailable.into(),
        min_ready: SignedDuration::ZERO,
        progress_deadline: DEADLINE,
        policy: if config.strict {
            PodReplacementPolicy::Failed
        } else {
            PodReplacementPolicy::TerminatingOrFailed
        },
        restart_at: (config.start == Start::Restart).then(|| at(-500)),
        require_analysis: false,
        on_failure: if config.rollback {
            OnFailure::Rollback
        } else {
            OnFailure::Pause
        },
        history_limit: 10,
    }
}

/// The status as stored.
fn recorded(state: &State) -> StreamingPipelineStatus {
    let text = |number: u8| (number > 0).then(|| revision(number).to_string());
    let failed = text(state.failed).map(|name| FailedRevision {
        name,
        reason: "AnalysisFailed".to_owned(),
        time: at(-100).to_string(),
    });
    let since = |is: bool| at(if is { LONG_AGO } else { 0 }).to_string();
    StreamingPipelineStatus {
        observed_generation: Some(1),
        update_revision: text(state.update),
        current_revision: text(state.current),
        rollout: Some(RolloutStatus {
            gate_opened_for: text(state.gate_opened_for),
            failed_revision: failed,
            last_progress_time: Some(since(state.past_deadline)),
            no_primary_since: state.nothing_to_protect.then(|| since(true)),
            ..RolloutStatus::default()
        }),
        ..StreamingPipelineStatus::default()
    }
}

fn verdict(state: &State, config: &Config) -> AnalysisVerdict {
    match state.analysis {
        _ if !config.analysis => AnalysisVerdict::None,
        Analysis::Pending => AnalysisVerdict::Pending("it measures".to_owned()),
        Analysis::Passed => AnalysisVerdict::Passed,
        Analysis::Failed => AnalysisVerdict::Failed("above its limit".to_owned()),
    }
}

/// The ControllerRevisions of all three; of those that completed the current one did so last.
fn stored(completed: u8, current: u8) -> Vec<ObjectMeta> {
    let of = |number: u8| {
        let labels = [
            (meta::LABEL_OWNER_UID, UID.to_owned()),
            (meta::LABEL_REVISION, revision(number).to_string()),
        ];
        let last = if number == current {
            -100
        } else {
            -200 - i64::from(number)
        };
        let mark =
            (completed >> number & 1 == 1).then(|| (meta::ANNOTATION_COMPLETED_AT.to_owned(), at(last).to_string()));
        ObjectMeta {
            name: Some(format!("svc-{}", revision(number))),
            uid: Some(format!("revision-{number}")),
            creation_timestamp: Some(Time(at(-3000))),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
            annotations: Some(mark.into_iter().collect()),
            ..ObjectMeta::default()
        }
    };
    (1..=3).map(of).collect()
}
