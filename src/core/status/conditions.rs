//! The conditions, each from the one state. All are present from the first visit on.

use jiff::Timestamp;

use crate::api::{Condition, ConditionStatus, ConditionType, Reason};
use crate::core::observed::Observed;
use crate::core::plan::{HoldBy, Orders};
use crate::core::settings::whole_seconds;
use crate::core::words::{counted, quoted};

use super::counts::Counts;
use super::state::{Mode, State};
use super::{StatusInput, cut};

/// Stands between what is said of annotations that do nothing, and before the rest of the message.
pub(super) const BETWEEN_ORDERS: &str = "; ";

/// What a condition says, without the times.
struct Said {
    status: ConditionStatus,
    reason: Reason,
    message: String,
}

/// All conditions, in the order of [`ConditionType::ALL`].
pub(super) fn all(
    input: &StatusInput<'_>,
    observed: &Observed,
    counts: &Counts,
    state: &State,
    now: Timestamp,
) -> Vec<Condition> {
    let subject = Subject {
        input,
        observed,
        counts,
        state,
        now,
    };
    ConditionType::ALL
        .iter()
        .map(|type_| stamped(input, *type_, &subject.say(*type_), now))
        .collect()
}

/// With the generation and the time at which the status last changed.
fn stamped(input: &StatusInput<'_>, type_: ConditionType, said: &Said, now: Timestamp) -> Condition {
    let before = previous(input, type_).filter(|before| before.status == said.status.as_str());
    let since = before
        .map(|before| before.last_transition_time.clone())
        .filter(|since| !since.is_empty());
    Condition {
        type_: type_.as_str().to_owned(),
        status: said.status.as_str().to_owned(),
        observed_generation: input.pipeline.generation,
        last_transition_time: since.unwrap_or_else(|| whole_seconds(now).to_string()),
        reason: said.reason.as_str().to_owned(),
        message: cut(&said.message),
    }
}

/// The condition as the operator wrote it before. What another operator left (it knows no `observedGeneration`) is none.
pub(super) fn previous<'a>(input: &StatusInput<'a>, type_: ConditionType) -> Option<&'a Condition> {
    let mut conditions = input.previous.conditions.iter();
    conditions.find(|condition| condition.type_ == type_.as_str() && condition.observed_generation.is_some())
}

/// The reason of a condition; `None` for one that this operator does not give.
pub(super) fn reason_of(condition: &Condition) -> Option<Reason> {
    let mut reasons = Reason::ALL.iter().copied();
    reasons.find(|reason| reason.as_str() == condition.reason)
}

/// What there is to speak of.
pub(super) struct Subject<'a> {
    pub(super) input: &'a StatusInput<'a>,
    pub(super) observed: &'a Observed,
    pub(super) counts: &'a Counts,
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
}

impl Subject<'_> {
    fn say(&self, type_: ConditionType) -> Said {
        match type_ {
            ConditionType::Rendered => self.rendered(),
            ConditionType::Applied => self.applied(),
            ConditionType::Available => self.available(),
            ConditionType::Progressing => self.progressing(),
            ConditionType::RolloutPaused => self.rollout_paused(),
            ConditionType::Ready => self.ready(),
            ConditionType::Reconciling => self.mode(Mode::Working),
            ConditionType::Stalled => self.mode(Mode::Stalled),
        }
    }

    fn rendered(&self) -> Said {
        if self.input.render_faults.is_empty() {
            return said(true, Reason::Rendered, "the spec was rendered");
        }
        let running = match self.input.facts.current_revision {
            Some(_) => "what runs is kept and healed at the current revision",
            None => "no Pod is made until the spec is mended",
        };
        said(
            false,
            Reason::RenderFailed,
            &format!("{}; {running}", self.input.render_faults.join("; ")),
        )
    }

    fn applied(&self) -> Said {
        match &self.state.refusal {
            Some(refusal) => said(false, refusal.reason, &refusal.message),
            None if self.state.bars_every_write() => said(
                false,
                self.state.reason,
                self.state.message.as_deref().unwrap_or_default(),
            ),
            // What was written is of an earlier spec.
            None if !self.input.render_faults.is_empty() => Said {
                status: ConditionStatus::Unknown,
                reason: Reason::RenderFailed,
                message: "the spec cannot be rendered, so that nothing of it was written".to_owned(),
            },
            None if self.input.outcome.is_none() => self.as_before(ConditionType::Applied, "nothing was written yet"),
            None => said(true, Reason::Applied, "everything was written"),
        }
    }

    fn available(&self) -> Said {
        let (available, wanted, minimum) = (self.counts.available, self.counts.wanted, self.counts.minimum);
        let enough = available >= minimum;
        let reason = if enough {
            Reason::MinimumReplicasAvailable
        } else {
            Reason::MinimumReplicasUnavailable
        };
        if self.input.wanted.is_none() {
            return self.as_before(ConditionType::Available, "the spec cannot be read");
        }
        said(
            enough,
            reason,
            &format!(
                "{available} of {} available, at least {minimum} needed",
                counted(wanted, "pod")
            ),
        )
    }

    fn progressing(&self) -> Said {
        let Some((status, reason)) = self.state.progressing else {
            return self.as_before(ConditionType::Progressing, "no rollout was seen yet");
        };
        let revision = self
            .input
            .facts
            .update_revision
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let mut message = format!(
            "revision {revision}: {} of {} updated, {} of them available",
            self.counts.updated,
            counted(self.counts.wanted, "pod"),
            self.counts.updated_available
        );
        if let Some(cause) = self.unwell_update() {
            message = format!("{message}; {cause}");
        }
        let mut said = Said {
            status,
            reason,
            message: String::new(),
        };
        if let Some(refusal) = &self.state.refusal {
            message = format!("{message}; {}", refusal.message);
            // A refusal does not say how the rollout stands; only that time ran out, or that a person holds it, does.
            if reason == Reason::RolloutProgressing && self.state.mode == Mode::Stalled {
                said = match previous(self.input, ConditionType::Progressing) {
                    Some(_) => self.as_before(ConditionType::Progressing, ""),
                    None => said,
                };
            }
        }
        Said { message, ..said }
    }

    /// Whether the spec or a failure holds the rollout; and, first, what was meant for it and does nothing.
    fn rollout_paused(&self) -> Said {
        let mut said = self.held();
        let annotations = &self.input.pipeline.annotations;
        let mut ignored = Orders::unreadable(annotations);
        ignored.extend(Orders::read(annotations).without_effect(self.input.pipeline, self.input.facts));
        if !ignored.is_empty() {
            let first = ignored.join(BETWEEN_ORDERS);
            said.message = [first, said.message].join(BETWEEN_ORDERS);
        }
        said
    }

    fn held(&self) -> Said {
        let mut holds = self.input.facts.holds.iter();
        let reason = |by| match by {
            HoldBy::Paused => Some(Reason::RolloutPaused),
            HoldBy::Deadline => Some(Reason::ProgressDeadlineExceeded),
            HoldBy::Failed if self.state.reason == Reason::RolledBack => Some(Reason::RolledBack),
            HoldBy::Failed => Some(Reason::RolloutFailed),
            HoldBy::DryRun => Some(Reason::ApiRejected),
            HoldBy::Suspended | HoldBy::ScaledToZero | HoldBy::GateCanary | HoldBy::GateAnalysis => None,
        };
        let held = holds.find_map(|hold| Some((reason(hold.by)?, hold.message.as_str())));
        match held {
            Some((reason, message)) => said(true, reason, message),
            None => said(false, Reason::AsExpected, "nothing holds the rollout"),
        }
    }

    fn ready(&self) -> Said {
        let message = match (&self.state.message, self.state.mode) {
            (None, Mode::Ready) => format!("{} of {} ready", self.counts.ready, counted(self.counts.wanted, "pod")),
            _ => self.message(),
        };
        said(self.state.mode == Mode::Ready, self.state.reason, &message)
    }

    fn mode(&self, mode: Mode) -> Said {
        if self.state.mode != mode {
            let message = match mode {
                Mode::Stalled => "nothing needs a person",
                Mode::Working | Mode::Ready => "nothing is under way",
            };
            return said(false, Reason::AsExpected, message);
        }
        said(true, self.state.reason, &self.message())
    }

    /// What there is to say of a pipeline that is not as it should be.
    fn message(&self) -> String {
        let message = match &self.state.message {
            Some(message) if self.state.tells_the_cause() => format!("{message}; {}", self.root_cause()),
            Some(message) => message.clone(),
            None => self.root_cause(),
        };
        match &self.state.attention {
            Some(attention) => format!("{}; {attention}", quoted(&message)),
            None => message,
        }
    }

    fn as_before(&self, type_: ConditionType, otherwise: &str) -> Said {
        let before = previous(self.input, type_);
        let status = before.map_or(ConditionStatus::Unknown, |before| match before.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        });
        Said {
            status,
            reason: before.and_then(reason_of).unwrap_or(Reason::AsExpected),
            message: before.map_or(otherwise, |before| before.message.as_str()).to_owned(),
        }
    }
}

fn said(status: bool, reason: Reason, message: &str) -> Said {
    Said {
        status: status.into(),
        reason,
        message: message.to_owned(),
    }
}
