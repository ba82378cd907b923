//! The one state that all conditions are derived from, so that they can never contradict each other.

use jiff::Timestamp;

use crate::api::{ConditionStatus, Reason};
use crate::core::names::Revision;
use crate::core::observed::{Claim, LegacyDeployment, NamespaceState, Observed, Owner, PodFacts, PodState, Update};
use crate::core::plan::{HoldBy, Phase};
use crate::core::words::{are, counted};

use super::counts::Counts;
use super::refusal::Refusal;
use super::{StatusInput, attention, causes, upkeep};

/// How a pipeline is, as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Reason of `Ready`.
    pub(super) reason: Reason,
    /// Which way `Ready`, `Reconciling` and `Stalled` stand.
    pub(super) mode: Mode,
    /// `Progressing`; `None` leaves it as it was.
    pub(super) progressing: Option<(ConditionStatus, Reason)>,
    /// What `Ready` says, where that is not how many Pods are ready.
    pub(super) message: Option<String>,
    /// Whether that is followed by the cause that keeps Pods from being ready.
    pub(super) with_cause: bool,
    /// What the API server refused.
    pub(super) refusal: Option<Refusal>,
    /// Which Pods only a person can help, where the rest does not say so.
    pub(super) attention: Option<String>,
}

/// Which way `Ready`, `Reconciling` and `Stalled` stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As the spec asks.
    Ready,
    /// The operator is at work, or waits for what comes by itself.
    Working,
    /// Only a person can get it on.
    Stalled,
}

impl State {
    /// The first that applies.
    pub(super) fn of(input: &StatusInput<'_>, observed: &Observed, counts: &Counts, now: Timestamp) -> Self {
        let state = blocked(input, observed).or_else(|| legacy(input, observed, now));
        let state = state.or_else(|| moving(input, observed, now));
        let mut state = state.unwrap_or_else(|| rollout(input, observed, counts, now));
        state.refusal = Refusal::of(input);
        if let Some(refusal) = state.refusal.clone().filter(|_| !state.is_blocked()) {
            state.message = Some(refusal.message.clone());
            state.with_cause = false;
            state.reason = refusal.reason;
            state.mode = match refusal.reason {
                Reason::ApiUnavailable => Mode::Working,
                _ => Mode::Stalled,
            };
        }
        state.attention = state.attention(input, observed);
        state
    }

    /// Whether something is not written for the pipeline, though nothing was refused.
    pub(super) const fn bars_every_write(&self) -> bool {
        matches!(
            self.reason,
            Reason::NameCollision
                | Reason::NamespaceTerminating
                | Reason::LegacyUnreadable
                | Reason::LegacyOperatorRunning
                | Reason::LegacyRolloutHangs
        )
    }

    /// Whether what `Ready` says ends with the cause that keeps Pods from being ready. That time ran out, or that a person
    /// holds the rollout, is no cause.
    pub(super) const fn tells_the_cause(&self) -> bool {
        self.message.is_none()
            || self.with_cause
            || matches!(self.reason, Reason::ProgressDeadlineExceeded | Reason::RolloutPaused)
    }

    fn attention(&self, input: &StatusInput<'_>, observed: &Observed) -> Option<String> {
        let stuck = attention::stuck(input, observed).filter(|_| self.reason != Reason::StuckTerminating);
        let told = self.tells_the_cause() || input.pipeline.deleting;
        let permanent = attention::permanent(observed).filter(|_| !told);
        let said: Vec<_> = permanent.into_iter().chain(stuck).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Whether something else than a refusal is said to be the cause.
    const fn is_blocked(&self) -> bool {
        self.bars_every_write() || matches!(self.reason, Reason::RenderFailed)
    }
}

fn working(reason: Reason) -> State {
    State {
        reason,
        mode: Mode::Working,
        progressing: Some((ConditionStatus::True, Reason::RolloutProgressing)),
        message: None,
        with_cause: false,
        refusal: None,
        attention: None,
    }
}

fn stalled(reason: Reason, message: Option<String>) -> State {
    State {
        mode: Mode::Stalled,
        progressing: None,
        message,
        ..working(reason)
    }
}

/// What keeps the operator from doing anything at all.
fn blocked(input: &StatusInput<'_>, observed: &Observed) -> Option<State> {
    if input.pipeline.deleting {
        return Some(State {
            message: Some(deleting(observed)),
            ..working(Reason::Deleting)
        });
    }
    if !input.render_faults.is_empty() {
        let message = format!("the spec cannot be rendered: {}", input.render_faults.join("; "));
        return Some(stalled(Reason::RenderFailed, Some(message)));
    }
    if let Some(holder) = &observed.collision {
        let message = format!(
            "the names of this pipeline belong to {holder} in namespace {}; nothing is created or deleted until it is gone",
            input.pipeline.workload_namespace
        );
        return Some(stalled(Reason::NameCollision, Some(message)));
    }
    let namespace = &input.pipeline.workload_namespace;
    let message = match observed.namespace {
        NamespaceState::Active => return None,
        NamespaceState::Terminating => format!("namespace {namespace} is being deleted"),
        NamespaceState::Missing => format!("namespace {namespace} does not exist; create it"),
    };
    Some(stalled(Reason::NamespaceTerminating, Some(message)))
}

/// What keeps the operator from moving the pipeline here.
fn legacy(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> Option<State> {
    if let Some(why) = &observed.legacy.unreadable {
        return Some(stalled(Reason::LegacyUnreadable, Some(why.clone())));
    }
    let grace = input.settings.legacy_grace;
    let Some(why) = observed.legacy.other_operator(grace, now) else {
        return hangs(input, observed, now);
    };
    let message = format!(
        "{why}: does the Python operator still run? Nothing is taken off meanwhile. Stop it (kubectl scale deployment \
         streaming-operator --replicas=0, in its namespace); the move goes on when the Deployment has been left alone for {} s",
        grace.as_secs()
    );
    Some(stalled(Reason::LegacyOperatorRunning, Some(message)))
}

/// A rolling update of a Deployment of which only a person can say how it is to end.
fn hangs(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> Option<State> {
    let grace = input.settings.legacy_grace;
    let legacy = &observed.legacy;
    let hangs = |deployment: &&LegacyDeployment| deployment.update(grace, now) == Update::Hangs;
    let deployment = legacy.deployments.iter().find(hangs)?;
    if input.facts.phase != Phase::Progressing || legacy.claim(grace, now) != Claim::Held {
        return None;
    }
    let LegacyDeployment { namespace, name, .. } = deployment;
    let message = format!(
        "{} is in a rolling update that does not come to its end: {} of its {} Pods are not available. Nothing is taken off it, \
         for one that serves might go. See what keeps them (kubectl get pods --namespace {namespace}), or set it back: \
         kubectl rollout undo deployment {name} --namespace {namespace}",
        deployment.in_words(),
        deployment.unavailable,
        deployment.shown(),
    );
    Some(stalled(Reason::LegacyRolloutHangs, Some(message)))
}

/// What a pipeline that is being deleted waits for.
fn deleting(observed: &Observed) -> String {
    if let Some(why) = &observed.legacy.unreadable {
        return format!("the pipeline is being deleted, but {why}");
    }
    let left = observed
        .pods
        .iter()
        .filter(|pod| pod.owner != Owner::Predecessor && pod.state != PodState::Gone);
    match causes::named(left) {
        None => "the pipeline is being deleted".to_owned(),
        Some((pods, 1)) => format!("the pipeline is being deleted; {pods} has not ended yet"),
        Some((pods, _)) => format!("the pipeline is being deleted; {pods} have not ended yet"),
    }
}

/// Where the rollout stands.
fn rollout(input: &StatusInput<'_>, observed: &Observed, counts: &Counts, now: Timestamp) -> State {
    let suspended = input.wanted.is_some_and(|wanted| wanted.suspend);
    match input.facts.phase {
        Phase::Suspended => none_wanted(suspended, counts),
        Phase::Complete => State {
            mode: Mode::Ready,
            progressing: Some((ConditionStatus::True, Reason::NewRevisionAvailable)),
            ..working(Reason::Ready)
        },
        Phase::Failed => failed(input, Reason::RolloutFailed),
        Phase::RolledBack => failed(input, Reason::RolledBack),
        Phase::Paused => State {
            progressing: Some((ConditionStatus::Unknown, Reason::RolloutPaused)),
            ..stalled(Reason::RolloutPaused, held_back(input, observed, now))
        },
        // (of a spec that cannot be rendered, see above)
        Phase::Stalled => failed(input, Reason::ProgressDeadlineExceeded),
        Phase::AwaitingAnalysis => State {
            progressing: Some((ConditionStatus::True, Reason::AwaitingAnalysis)),
            message: hold_message(input, HoldBy::GateAnalysis),
            ..working(Reason::AwaitingAnalysis)
        },
        Phase::Progressing => progressing(input, observed, now),
    }
}

fn none_wanted(suspended: bool, counts: &Counts) -> State {
    let (reason, message) = if suspended {
        (Reason::Suspended, "suspend is set, and no Pod is left")
    } else {
        (Reason::ScaledToZero, "replicas is 0, and no Pod is left")
    };
    if counts.total + counts.terminating > 0 {
        let left = counts.total + counts.terminating;
        return State {
            message: Some(format!("no Pod is wanted; {left} {} still ending", are(left))),
            ..working(Reason::Scaling)
        };
    }
    State {
        mode: Mode::Ready,
        progressing: Some((ConditionStatus::True, reason)),
        message: Some(message.to_owned()),
        ..working(reason)
    }
}

fn failed(input: &StatusInput<'_>, reason: Reason) -> State {
    let hold = hold_message(input, HoldBy::Failed).or_else(|| hold_message(input, HoldBy::Deadline));
    State {
        progressing: Some((ConditionStatus::False, reason)),
        ..stalled(reason, hold)
    }
}

/// Rolling out, healing or scaling; with what only a person can help first.
fn progressing(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> State {
    let predecessor = observed
        .pods
        .iter()
        .any(|pod| pod.owner == Owner::Predecessor && pod.state != PodState::Gone);
    let progress = Some((ConditionStatus::True, Reason::RolloutProgressing));
    if observed.pods.iter().any(|pod| pod.is_live() && pod.health.permanent) {
        return State {
            progressing: progress,
            ..stalled(Reason::PermanentPodFailure, None)
        };
    }
    if let Some(message) = attention::stuck(input, observed) {
        return State {
            progressing: progress,
            ..stalled(Reason::StuckTerminating, Some(message))
        };
    }
    if predecessor {
        return working(Reason::WaitingForPredecessor);
    }
    if input.facts.holds.iter().any(|hold| hold.by == HoldBy::GateCanary) {
        return working(Reason::AwaitingCanary);
    }
    let update = input.facts.update_revision.as_ref();
    let rolls = |pod: &PodFacts| pod.is_live() && pod.revision.as_ref() != update;
    let new = input
        .facts
        .current_revision
        .as_ref()
        .is_none_or(|current: &Revision| Some(current) != update);
    if new || observed.pods.iter().any(rolls) {
        return working(Reason::RollingOut);
    }
    working(upkeep::reason(input, observed, now))
}

/// What would be done if `rollout.paused` were not set.
fn held_back(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> Option<String> {
    let update = input.facts.update_revision.as_ref()?;
    let (updated, outdated): (Vec<&PodFacts>, Vec<&PodFacts>) = observed
        .pods
        .iter()
        .filter(|pod| pod.is_live())
        .partition(|pod| pod.revision.as_ref() == Some(update));
    let stale = updated.iter().filter(|pod| upkeep::is_stale(input, pod, now)).count();
    let mut held = Vec::new();
    if !outdated.is_empty() {
        let count = outdated.len();
        held.push(format!(
            "{} {} not moved to revision {update}",
            counted(count, "pod"),
            are(count)
        ));
    }
    let theirs = observed.legacy.live();
    if theirs > 0 {
        let consumers = counted(theirs, "consumer");
        held.push(format!(
            "{consumers} {} not moved from the Python operator",
            are(theirs)
        ));
    }
    if stale > 0 {
        held.push(format!(
            "{} older than restartAt {} not restarted",
            counted(stale, "pod"),
            are(stale)
        ));
    }
    (!held.is_empty()).then(|| format!("rollout.paused is set: {}", held.join(", ")))
}

/// How far the move from the Python operator, or from another namespace, is; `None` when it is over, or waits for
/// something else than its Pods.
fn moving(input: &StatusInput<'_>, observed: &Observed, now: Timestamp) -> Option<State> {
    let is_broken = observed.pods.iter().any(|pod| pod.health.report);
    if input.facts.phase != Phase::Progressing || is_broken {
        return None;
    }
    let legacy = &observed.legacy;
    let rank = |deployment: &&LegacyDeployment| (deployment.rolling.is_some(), deployment.live());
    let busiest = legacy.deployments.iter().max_by_key(rank);
    let there = observed
        .pods
        .iter()
        .filter(|pod| pod.owner == Owner::OldNamespace)
        .count();
    let message = match (busiest, &legacy.old_namespace) {
        (Some(deployment), _) => {
            let (left, what) = (counted(legacy.live(), "consumer"), deployment.in_words());
            let grace = input.settings.legacy_grace;
            let is_updating = deployment.update(grace, now) != Update::Over;
            match legacy.claim(grace, now) {
                Claim::Settling { until, .. } => format!(
                    "moves from the Python operator: {left} still in {what}, which must have been left alone for {} s (until \
                     {until}) before one is taken off",
                    grace.as_secs()
                ),
                _ if is_updating => format!(
                    "moves from the Python operator: {what} is itself in a rolling update. When that has not got on for {} s, it \
                     is set back to the Pods that serve",
                    grace.as_secs()
                ),
                _ => format!("moves from the Python operator: {left} still to be taken off {what}"),
            }
        }
        (None, Some(namespace)) if there > 0 => {
            format!(
                "moves from namespace {namespace}: {} still there",
                counted(there, "Pod")
            )
        }
        _ => return None,
    };
    let waits = |pod: &PodFacts| pod.is_live() && !pod.ready && pod.health.verdict.reason().is_some();
    Some(State {
        message: Some(message),
        with_cause: observed.pods.iter().any(waits),
        ..working(Reason::RollingOut)
    })
}

fn hold_message(input: &StatusInput<'_>, by: HoldBy) -> Option<String> {
    let hold = input.facts.holds.iter().find(|hold| hold.by == by)?;
    Some(hold.message.clone())
}
