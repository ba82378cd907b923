//! The shell of the operator as far as the core needs one: it gathers, decides, writes in order, and may die after any
//! write. Each write is judged by the invariants at the moment it is made.

use std::collections::BTreeSet;
use std::iter::successors;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use streaming_operator::api::{OnFailure, PodReplacementPolicy, StreamingPipelineStatus, meta};
use streaming_operator::core::in_flight::Ledger;
use streaming_operator::core::names::{BaseName, Revision};
use streaming_operator::core::observed::{Gathered, NamespaceState, Observed, PipelineFacts};
use streaming_operator::core::plan::{
    Action, ActionResult, AnalysisVerdict, Decision, Input, Outcome, PodPlan, Wanted, decide,
};
use streaming_operator::core::settings::Settings;
use streaming_operator::core::status::{StatusInput, status};

use crate::cluster::{Cluster, SimPod, UID, strings};
use crate::invariants;
use crate::rng::Rng;

/// A pipeline, the cluster it runs in, and the operator.
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) wanted: Wanted,
    pub(crate) generation: i64,
    pub(crate) status: StreamingPipelineStatus,
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) analysis: AnalysisVerdict,
    /// Uids of the Pods that the operator deleted since it started last.
    pub(crate) deleted: BTreeSet<String>,
    /// What happened, to be printed with a failure.
    pub(crate) log: Vec<String>,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Number of writes, the status included.
    pub(crate) writes: usize,
    /// When the operator wants to look again.
    pub(crate) wake_after: Option<SignedDuration>,
}

pub(crate) fn revision(digit: char) -> Revision {
    Revision::parse(&digit.to_string().repeat(10)).expect("a hex digit")
}

impl World {
    pub(crate) fn new(replicas: u16, digit: char) -> Self {
        Self {
            cluster: Cluster::new(),
            wanted: Wanted {
                revision: Some(revision(digit)),
                config_map: Some(format!("svc-{digit}")),
                primary: BaseName::parse("svc").expect("a name"),
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
                history_limit: 2,
            },
            generation: 1,
            status: StreamingPipelineStatus::default(),
            ledger: Ledger::default(),
            settings: Settings::default(),
            analysis: AnalysisVerdict::None,
            deleted: BTreeSet::new(),
            log: Vec::new(),
        }
    }

    pub(crate) fn edit(&mut self, what: String, edit: impl FnOnce(&mut Wanted)) {
        edit(&mut self.wanted);
        self.generation += 1;
        self.log.push(what);
    }

    pub(crate) fn edit_to(&mut self, digit: char) {
        self.edit(format!("USER edits to revision {digit}"), |wanted| {
            wanted.revision = Some(revision(digit));
            wanted.config_map = Some(format!("svc-{digit}"));
        });
    }

    fn pipeline(&self) -> PipelineFacts {
        PipelineFacts {
            namespace: "ns".to_owned(),
            name: "pipeline".to_owned(),
            uid: UID.to_owned(),
            generation: Some(self.generation),
            deleting: false,
            has_finalizer: false,
            annotations: std::collections::BTreeMap::new(),
            workload_namespace: "ns".to_owned(),
        }
    }

    fn observe(&self) -> Observed {
        let objects: Vec<_> = self.cluster.cache.values().map(SimPod::object).collect();
        let gathered = Gathered {
            pods: objects.iter().collect(),
            config_maps: self.cluster.config_maps.values().collect(),
            revisions: self.cluster.revisions.values().collect(),
            live_owners: BTreeSet::from(["uid-of-another".to_owned()]),
            collision: None,
            namespace: NamespaceState::Active,
        };
        let (pipeline, wanted) = (self.pipeline(), Some(&self.wanted));
        Observed::new(
            &pipeline,
            wanted,
            &gathered,
            &self.ledger,
            &self.settings,
            self.cluster.now,
        )
    }

    pub(crate) fn decision(&self) -> Decision {
        let (pipeline, observed) = (self.pipeline(), self.observe());
        let input = Input {
            pipeline: &pipeline,
            wanted: Some(&self.wanted),
            observed: &observed,
            previous: &self.status,
            ledger: &self.ledger,
            analysis: &self.analysis,
            settings: &self.settings,
        };
        decide(&input, self.cluster.now)
    }

    /// A pass. With `crash` it dies after that many writes, and starts anew.
    pub(crate) fn pass(&mut self, crash: Option<usize>, rng: &mut Rng) -> Pass {
        let observed = self.observe();
        let decision = self.decision();
        let mut left = crash;
        let mut dies = |log: &mut Vec<String>| {
            let now = left == Some(0);
            left = left.map(|left| left.saturating_sub(1));
            if now {
                log.push("CRASH of the operator".to_owned());
            }
            now
        };
        let mut writes = 0;
        if decision.facts_first {
            if dies(&mut self.log) {
                return self.died();
            }
            writes += usize::from(self.write_status(&observed, &decision, None));
        }
        let mut outcome = Outcome::default();
        for action in &decision.actions {
            if dies(&mut self.log) {
                return self.died();
            }
            self.log.push(format!("operator: {action:?}"));
            if matches!(action, Action::CreatePod(_) | Action::DeletePod(_)) {
                invariants::of_any_pod_write(self, &decision);
            }
            let result = self.apply(action, &decision, rng);
            writes += 1;
            outcome.results.push((action.clone(), result));
        }
        if dies(&mut self.log) {
            return self.died();
        }
        writes += usize::from(self.write_status(&observed, &decision, Some(&outcome)));
        Pass {
            writes,
            wake_after: decision.wake_after,
        }
    }

    fn died(&mut self) -> Pass {
        self.cluster.restart(&mut self.ledger);
        self.deleted.clear();
        Pass {
            writes: 1,
            wake_after: Some(SignedDuration::ZERO),
        }
    }

    /// Whether it had to be written.
    fn write_status(&mut self, observed: &Observed, decision: &Decision, outcome: Option<&Outcome>) -> bool {
        let pipeline = self.pipeline();
        let next = status(
            &StatusInput {
                pipeline: &pipeline,
                wanted: Some(&self.wanted),
                config_version: Some("0123456789abcdef0123456789abcdef"),
                render_faults: &[],
                observed,
                facts: &decision.facts,
                outcome,
                previous: &self.status,
                settings: &self.settings,
            },
            self.cluster.now,
        );
        invariants::of_status(self, &next);
        if next == self.status {
            return false;
        }
        self.log.push(format!(
            "operator: status {:?} current {:?}",
            next.rollout, next.current_revision
        ));
        self.status = next;
        true
    }

    fn apply(&mut self, action: &Action, decision: &Decision, rng: &mut Rng) -> ActionResult {
        match action {
            Action::CreateRevision { revision, name } => {
                let mut object = self.object(name, revision);
                let map = self.wanted.config_map.clone().unwrap_or_default();
                object
                    .annotations
                    .get_or_insert_default()
                    .insert(meta::ANNOTATION_CONFIG_MAP.to_owned(), map);
                self.cluster.revisions.insert(name.clone(), object);
            }
            Action::CreateConfigMap { revision, name } => {
                let object = self.object(name, revision);
                self.cluster.config_maps.insert(name.clone(), object);
            }
            Action::DryRunPod(plan) => self.ledger.dry_run_accepted(&plan.revision),
            Action::CreatePod(plan) => return self.create(plan, decision, rng),
            Action::DeletePod(delete) => {
                invariants::of_delete(self, delete);
                self.deleted.insert(delete.uid.clone());
                self.ledger.deleting(&delete.uid);
                self.cluster.delete(&delete.name, &delete.uid, delete.force);
                // Sometimes the answer is lost: the ledger keeps the note until the watch shows it.
                if !rng.chance(10) {
                    self.ledger.deleted(&delete.uid);
                }
            }
            Action::DeleteConfigMap { name, .. } => {
                invariants::of_config_map(self, name);
                self.cluster.config_maps.remove(name);
            }
            Action::DeleteRevision { name, .. } => {
                self.cluster.revisions.remove(name);
            }
            Action::MarkCompleted { name, at, .. } => {
                if let Some(object) = self.cluster.revisions.get_mut(name) {
                    let annotations = object.annotations.get_or_insert_default();
                    annotations.insert(meta::ANNOTATION_COMPLETED_AT.to_owned(), at.to_string());
                }
            }
            Action::AddFinalizer | Action::RemoveFinalizer => panic!("no finalizer is needed here"),
        }
        ActionResult::Done
    }

    fn create(&mut self, plan: &PodPlan, decision: &Decision, rng: &mut Rng) -> ActionResult {
        invariants::of_create(self, plan, decision);
        self.ledger.creating(plan, self.cluster.now);
        let name = plan.name.to_string();
        match self.cluster.create(plan) {
            // Sometimes the answer is lost: a later look finds the Pod.
            Ok(_) if rng.chance(10) => ActionResult::Unavailable {
                message: "time-out".to_owned(),
            },
            Ok(uid) => {
                self.ledger.created(&name, &uid);
                ActionResult::Done
            }
            Err(there) if there.owner == UID => {
                self.ledger.created(&name, &there.uid);
                ActionResult::AlreadyOurs
            }
            Err(_) => {
                self.ledger.not_created(&name);
                ActionResult::NotOurs {
                    holder: "another".to_owned(),
                }
            }
        }
    }

    fn object(&mut self, name: &str, revision: &Revision) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some(self.cluster.new_uid()),
            creation_timestamp: Some(Time(self.cluster.now)),
            labels: Some(strings(&[
                (meta::LABEL_OWNER_UID, UID),
                (meta::LABEL_REVISION, revision.as_str()),
            ])),
            ..ObjectMeta::default()
        }
    }
}

/// Every replacement policy with every answer to a failure. A new one does not compile until it has its place here.
pub(crate) fn policies() -> impl Iterator<Item = (PodReplacementPolicy, OnFailure)> {
    let policies = successors(Some(PodReplacementPolicy::TerminatingOrFailed), |policy| match policy {
        PodReplacementPolicy::TerminatingOrFailed => Some(PodReplacementPolicy::Failed),
        PodReplacementPolicy::Failed => None,
    });
    policies.flat_map(|policy| {
        let answers = successors(Some(OnFailure::Pause), |answer| match answer {
            OnFailure::Pause => Some(OnFailure::Rollback),
            OnFailure::Rollback => None,
        });
        answers.map(move |answer| (policy, answer))
    })
}
