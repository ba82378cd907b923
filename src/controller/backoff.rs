//! What failed of a pipeline's writes, and when it is tried again. An event in between does not shorten the wait, so a
//! refusal costs the API server what its back-off says, however busy the pipeline is. An edit of the spec ends every
//! wait, for it may be the cure. Must never drop what failed: each pass says it again until it is mended.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::core::plan::{Action, ActionResult};
use crate::core::settings::later;

/// First and longest wait after a refusal: somebody has to change something, and 300 s is what a person waits anyway.
const REFUSED: (SignedDuration, SignedDuration) = (SignedDuration::from_secs(10), SignedDuration::from_secs(300));
/// First and longest wait when the API server could not be asked: it may be back any moment.
const UNAVAILABLE: (SignedDuration, SignedDuration) = (SignedDuration::from_secs(1), SignedDuration::from_secs(30));

/// Writes that fail together: what one of them is refused for, its kind is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The finalizer of the pipeline.
    Finalizer,
    /// Creates of ControllerRevisions, and their annotation.
    Revision,
    /// Creates of ConfigMaps.
    ConfigMap,
    /// Dry runs of Pods; their back-off is the ledger's.
    DryRun,
    /// Creates of Pods.
    CreatePod,
    /// Deletes of Pods.
    DeletePod,
    /// Deletes of ConfigMaps and ControllerRevisions.
    DeleteObject,
}

impl Kind {
    /// The kind of an action.
    #[must_use]
    pub const fn of(action: &Action) -> Self {
        match action {
            Action::AddFinalizer | Action::RemoveFinalizer => Self::Finalizer,
            Action::CreateRevision { .. } | Action::MarkCompleted { .. } => Self::Revision,
            Action::CreateConfigMap { .. } => Self::ConfigMap,
            Action::DryRunPod(_) => Self::DryRun,
            Action::CreatePod(_) => Self::CreatePod,
            Action::DeletePod(_) => Self::DeletePod,
            Action::DeleteConfigMap { .. } | Action::DeleteRevision { .. } => Self::DeleteObject,
        }
    }

    /// Whether everything after it depends on it: no Pod is made or deleted for a revision that could not be kept.
    #[must_use]
    pub const fn bars_what_follows(self) -> bool {
        match self {
            Self::Finalizer | Self::Revision | Self::ConfigMap => true,
            Self::DryRun | Self::CreatePod | Self::DeletePod | Self::DeleteObject => false,
        }
    }
}

/// What failed of one pipeline.
#[derive(Clone, Debug, Default)]
pub struct Holds(BTreeMap<Kind, Hold>);

#[derive(Clone, Debug)]
struct Hold {
    generation: Option<i64>,
    result: ActionResult,
    wait: SignedDuration,
    until: Timestamp,
}

impl Holds {
    /// What came of the last attempt, while it is too early for another one.
    #[must_use]
    pub fn held(&self, kind: Kind, generation: Option<i64>, now: Timestamp) -> Option<&ActionResult> {
        let hold = self.0.get(&kind)?;
        (hold.generation == generation && now < hold.until).then_some(&hold.result)
    }

    /// Notes what came of an attempt at `now`.
    pub fn note(&mut self, kind: Kind, generation: Option<i64>, result: &ActionResult, now: Timestamp) {
        let (first, longest) = match result {
            ActionResult::Done | ActionResult::AlreadyOurs => {
                self.0.remove(&kind);
                return;
            }
            ActionResult::Skipped => return,
            ActionResult::Refused { .. } | ActionResult::NotOurs { .. } => REFUSED,
            ActionResult::Unavailable { .. } => UNAVAILABLE,
        };
        if kind == Kind::DryRun {
            return;
        }
        let before = self.0.get(&kind).filter(|hold| hold.generation == generation);
        let wait = before.map_or(first, |hold| hold.wait.saturating_mul(2).clamp(first, longest));
        let hold = Hold {
            generation,
            result: result.clone(),
            wait,
            until: later(now, wait),
        };
        self.0.insert(kind, hold);
    }

    /// When the first wait is over.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Option<SignedDuration> {
        let waits = self.0.values().map(|hold| hold.until.duration_since(now));
        waits.filter(SignedDuration::is_positive).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn refused() -> ActionResult {
        ActionResult::Refused {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "exceeded quota".to_owned(),
        }
    }

    #[test]
    fn a_refusal_is_tried_again_after_10_20_40_and_at_most_300_seconds() {
        let mut holds = Holds::default();
        let mut now = at(0);
        let waits: Vec<i64> = (0..7)
            .map(|_| {
                holds.note(Kind::CreatePod, Some(1), &refused(), now);
                let wait = holds.next(now).expect("a wait");
                now = later(now, wait);
                assert_eq!(holds.held(Kind::CreatePod, Some(1), now), None, "the wait is over");
                wait.as_secs()
            })
            .collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn an_event_does_not_shorten_the_wait_and_an_edit_ends_it() {
        let mut holds = Holds::default();
        holds.note(Kind::CreatePod, Some(1), &refused(), at(0));
        assert_eq!(holds.held(Kind::CreatePod, Some(1), at(9)), Some(&refused()));
        assert_eq!(holds.held(Kind::CreatePod, Some(2), at(1)), None);
        assert_eq!(holds.held(Kind::DeletePod, Some(1), at(1)), None);
    }

    #[test]
    fn an_api_server_that_is_away_is_asked_again_after_a_second() {
        let mut holds = Holds::default();
        let away = ActionResult::Unavailable {
            message: "reset".to_owned(),
        };
        holds.note(Kind::DeletePod, None, &away, at(0));
        assert_eq!(holds.next(at(0)), Some(SignedDuration::from_secs(1)));
        holds.note(Kind::DeletePod, None, &ActionResult::Done, at(1));
        assert_eq!(holds.next(at(1)), None);
    }
}
