//! The shell of the operator as far as the core needs one: it gathers, decides, writes in order, and may die after any
//! write. Each write is judged by the invariants at the moment it is made.

use std::collections::BTreeSet;
use std::iter::successors;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use streaming_operator::api::{OnFailure, PodReplacementPolicy, meta};
use streaming_operator::core::names::Revision;
use streaming_operator::core::observed::{Gathered, NamespaceState, Observed};
use streaming_operator::core::plan::{Action, ActionResult, Decision, Input, Outcome, PodDelete, PodPlan, decide};
use streaming_operator::core::status::{StatusInput, status};

use crate::cluster::{ANOTHER, strings};
use crate::defects::{self, Defect};
use crate::invariants;
use crate::legacy;
use crate::rng::Rng;
use crate::story::short;
use crate::world::World;

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Number of writes, the status included.
    pub(crate) writes: usize,
    /// When the operator wants to look again.
    pub(crate) wake_after: Option<SignedDuration>,
}

impl World {
    fn observe(&self) -> Observed {
        let shown = |pod| defects::shown(self.defect, pod, &self.uid).object();
        let objects: Vec<Pod> = self.cluster.cache.values().map(shown).collect();
        let gathered = Gathered {
            pods: objects.iter().collect(),
            config_maps: self.cluster.config_maps.values().collect(),
            revisions: self.cluster.revisions.values().collect(),
            live_owners: BTreeSet::from([ANOTHER.to_owned()]),
            collision: self.collides.then(|| "ns/other".to_owned()),
            namespace: NamespaceState::Active,
        };
        let wanted = self.wanted();
        let memory = defects::memory(self.defect, &self.ledger);
        let now = self.cluster.now;
        let (pipeline, settings) = (self.pipeline(), &self.settings);
        let observed = Observed::new(&pipeline, Some(&wanted), &gathered, &memory, settings, now);
        observed.with_legacy(self.cluster.legacy.facts(), &[], Some(&wanted), settings, now)
    }

    pub(crate) fn decision(&self) -> Decision {
        self.decision_on(&self.observe())
    }

    fn decision_on(&self, observed: &Observed) -> Decision {
        let wanted = defects::wanted(self.defect, self.wanted());
        let input = Input {
            pipeline: &self.pipeline(),
            wanted: Some(&wanted),
            observed,
            previous: &self.status,
            ledger: &self.ledger,
            analysis: &self.analysis,
            settings: &self.settings,
        };
        defects::decided(self.defect, decide(&input, self.cluster.now))
    }

    /// A pass. With `crash` it dies after that many writes, and starts anew.
    pub(crate) fn pass(&mut self, crash: Option<usize>, rng: &mut Rng) -> Pass {
        let shown = self.cluster.is_shown();
        if self.cluster.behind() > 0 {
            self.tally.note("watch: events come after a pass");
        }
        let observed = self.observe();
        let decision = self.decision_on(&observed);
        self.tally.decided(&decision);
        let mut left = crash;
        let mut dies = || {
            let now = left == Some(0);
            left = left.map(|left| left.saturating_sub(1));
            now
        };
        let mut writes = 0;
        if decision.facts_first {
            if dies() {
                return self.died("operator: dies before its first write");
            }
            writes += usize::from(self.write_status(&observed, &decision, None));
        }
        let mut outcome = Outcome::default();
        self.written.extend(pod_writes(&decision.actions));
        for action in &decision.actions {
            if dies() {
                let when = if writes == 0 {
                    "before its first write"
                } else {
                    "between two writes"
                };
                return self.died(&format!("operator: dies {when}"));
            }
            self.log.push(format!("operator: {action:?}"));
            if matches!(action, Action::CreatePod(_) | Action::DeletePod(_)) && !self.deleting {
                invariants::of_any_pod_write(self, &decision);
            }
            let result = self.apply(action, &decision, &outcome, rng);
            // (a refused create changes nothing: without this the passes of a full quota would never settle)
            writes += usize::from(result != refused());
            outcome.results.push((action.clone(), result));
        }
        if outcome.results.iter().any(|(_, result)| *result == refused()) {
            self.written.push("refused".to_owned());
        }
        if dies() {
            return self.died("operator: dies after its last write");
        }
        for notice in streaming_operator::core::plan::notices::of_outcome(&outcome) {
            self.tally.note(&format!("notice: {}", notice.reason.as_str()));
        }
        // (of a pipeline that is gone there is no status to write)
        if !self.deleting
            && outcome
                .results
                .iter()
                .all(|(action, _)| *action != Action::RemoveFinalizer)
        {
            writes += usize::from(self.write_status(&observed, &decision, Some(&outcome)));
        }
        self.told
            .extend(decision.notices.iter().map(|notice| notice.reason.as_str()));
        self.seen = shown && writes == 0 && !self.collides && !self.deleting;
        Pass {
            writes,
            wake_after: decision.wake_after,
        }
    }

    fn died(&mut self, when: &str) -> Pass {
        self.log.push(when.to_owned());
        self.tally.note(when);
        self.cluster.restart(&mut self.ledger);
        self.deleted.clear();
        self.forget_unrecorded();
        Pass {
            writes: 1,
            wake_after: Some(SignedDuration::ZERO),
        }
    }

    /// Whether it had to be written.
    fn write_status(&mut self, observed: &Observed, decision: &Decision, outcome: Option<&Outcome>) -> bool {
        let fault = "spec.container_template: cannot be rendered".to_owned();
        let faults: Vec<String> = self.unrendered.then_some(fault).into_iter().collect();
        let next = status(
            &StatusInput {
                pipeline: &self.pipeline(),
                wanted: Some(&self.wanted()),
                config_version: (!self.unrendered).then_some("0123456789abcdef0123456789abcdef"),
                render_faults: &faults,
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

    fn apply(&mut self, action: &Action, decision: &Decision, so_far: &Outcome, rng: &mut Rng) -> ActionResult {
        match action {
            Action::CreateRevision { revision, name } => {
                let mut object = self.object(name, revision);
                let map = self.wanted().config_map.unwrap_or_default();
                let annotations = object.annotations.get_or_insert_default();
                annotations.insert(meta::ANNOTATION_CONFIG_MAP.to_owned(), map);
                self.cluster.revisions.entry(name.clone()).or_insert(object);
            }
            Action::CreateConfigMap { revision, name } => {
                let object = self.object(name, revision);
                self.cluster.config_maps.entry(name.clone()).or_insert(object);
            }
            Action::DryRunPod(plan) if !self.calm && rng.chance(15) => {
                self.tally.note("answer: a dry run is refused");
                self.ledger
                    .dry_run_refused(&plan.revision, self.cluster.now, &self.settings);
                return refused();
            }
            Action::DryRunPod(plan) => self.ledger.dry_run_accepted(&plan.revision),
            Action::CreatePod(_) if is_over(so_far) => return ActionResult::Skipped,
            Action::CreatePod(_) if self.quota_full => return refused(),
            Action::CreatePod(_) if !self.calm && rng.chance(5) => {
                self.tally.note("answer: a create is refused");
                return refused();
            }
            Action::CreatePod(plan) => return self.create(plan, decision, rng),
            Action::DeletePod(delete) => self.delete(delete, rng),
            Action::DeleteConfigMap { name, uid, .. } => {
                invariants::of_config_map(self, name);
                self.cluster.config_maps.retain(|_, map| map.uid.as_ref() != Some(uid));
            }
            Action::DeleteRevision { uid, .. } => {
                self.cluster
                    .revisions
                    .retain(|_, revision| revision.uid.as_ref() != Some(uid));
            }
            Action::MarkCompleted { name, at, .. } => {
                if let Some(object) = self.cluster.revisions.get_mut(name) {
                    let annotations = object.annotations.get_or_insert_default();
                    annotations.insert(meta::ANNOTATION_COMPLETED_AT.to_owned(), at.to_string());
                }
            }
            Action::ClaimLegacy(_)
            | Action::ScaleLegacy(_)
            | Action::SetBackLegacy(_)
            | Action::DeleteLegacy { .. }
            | Action::DeleteLegacyConfigMap { .. }
            | Action::RemoveLegacyMarks => self.cluster.legacy.write(action),
            Action::AddFinalizer => self.has_finalizer = true,
            Action::RemoveFinalizer => self.gone(),
        }
        ActionResult::Done
    }

    fn delete(&mut self, delete: &PodDelete, rng: &mut Rng) {
        invariants::of_delete(self, delete);
        self.deleted.insert(delete.uid.clone());
        self.deleted_for.entry(delete.uid.clone()).or_insert(delete.why);
        self.ledger.deleting(&delete.uid);
        let named = || self.cluster.pods.get(&delete.name).map(|pod| pod.uid.clone());
        let uid = match self.defect {
            Some(Defect::UidPreconditionIgnored) => named().unwrap_or_default(),
            _ => delete.uid.clone(),
        };
        self.cluster.delete(&delete.name, &uid, delete.force);
        // Sometimes the answer is lost: the ledger keeps the note until the watch shows it.
        if !self.calm && rng.chance(10) {
            self.tally.note("answer: of a delete is lost");
        } else {
            self.ledger.deleted(&delete.uid);
        }
    }

    fn create(&mut self, plan: &PodPlan, decision: &Decision, rng: &mut Rng) -> ActionResult {
        invariants::of_create(self, plan, decision);
        self.ledger.creating(plan, self.cluster.now);
        let name = plan.name.to_string();
        let made = self.cluster.create(plan, &self.uid);
        if made.is_ok() {
            self.note_generation(plan);
        }
        match made {
            // Sometimes the answer is lost: a later look finds the Pod.
            Ok(_) if !self.calm && rng.chance(10) => {
                self.tally.note("answer: of a create is lost");
                ActionResult::Unavailable {
                    message: "time-out".to_owned(),
                }
            }
            Ok(uid) => {
                self.ledger.created(&name, &uid);
                ActionResult::Done
            }
            Err(there) if there.owner == self.uid => {
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
                (meta::LABEL_OWNER_UID, &self.uid),
                (meta::LABEL_REVISION, revision.as_str()),
            ])),
            annotations: Some(strings(&[
                (meta::ANNOTATION_OWNER_NAME, "pipeline"),
                (meta::ANNOTATION_OWNER_NAMESPACE, "ns"),
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

/// What a pass does to Pods, in a line; nothing where it does nothing.
fn pod_writes(actions: &[Action]) -> Option<String> {
    let word = |action: &Action| match action {
        Action::CreatePod(plan) => {
            let revision = &plan.revision.as_str()[..1];
            Some(format!("+{}={revision}", short(&plan.name.to_string())))
        }
        Action::DeletePod(delete) => {
            let force = if delete.force { "!" } else { "" };
            Some(format!("-{}{force}", short(&delete.name)))
        }
        other => legacy::word(other),
    };
    let words: Vec<String> = actions.iter().filter_map(word).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Creates after one that was refused are skipped.
fn is_over(so_far: &Outcome) -> bool {
    so_far
        .results
        .iter()
        .any(|(action, result)| matches!(action, Action::CreatePod(_)) && *result == refused())
}

fn refused() -> ActionResult {
    ActionResult::Refused {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "exceeded quota".to_owned(),
    }
}
