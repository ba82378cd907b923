//! What failed of a pipeline's writes, and when it is tried again. An event in between does not shorten the wait, so a
//! refusal costs the API server what its back-off says, however busy the pipeline is. An edit of the spec ends every
//! wait, for it may be the cure. A Pod whose name another's Pod has waits alone: the names of the others are free, and
//! who has one name may not keep a whole pipeline from being healed. Must never drop what failed: each pass says it again
//! until it is mended.

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
    /// Everything that is done to what the Python operator left.
    Legacy,
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
            Action::ClaimLegacy(_)
            | Action::ScaleLegacy(_)
            | Action::SetBackLegacy(_)
            | Action::DeleteLegacy { .. }
            | Action::DeleteLegacyConfigMap { .. }
            | Action::RemoveLegacyMarks => Self::Legacy,
        }
    }

    /// Whether such a result of one action says nothing of the others of its kind: a Pod's name is another's.
    #[must_use]
    pub const fn fails_alone(self, result: &ActionResult) -> bool {
        matches!((self, result), (Self::CreatePod, ActionResult::NotOurs { .. }))
    }

    /// Whether everything after it depends on it: no Pod is made or deleted for a revision that could not be kept.
    #[must_use]
    pub const fn bars_what_follows(self) -> bool {
        match self {
            Self::Finalizer | Self::Revision | Self::ConfigMap => true,
            Self::DryRun | Self::CreatePod | Self::DeletePod | Self::DeleteObject | Self::Legacy => false,
        }
    }
}

/// What failed of one pipeline.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// What keeps a whole kind waiting.
    kinds: BTreeMap<Kind, Hold>,
    /// What keeps the create of one Pod waiting, by the Pod's name.
    pods: BTreeMap<String, Hold>,
}

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
        self.kinds.get(&kind)?.held(generation, now)
    }

    /// What came of the last attempt to create this Pod, while it is too early for another one.
    #[must_use]
    pub fn held_pod(&self, name: &str, generation: Option<i64>, now: Timestamp) -> Option<&ActionResult> {
        self.pods.get(name)?.held(generation, now)
    }

    /// Notes what came of an attempt at `now`.
    pub fn note(&mut self, kind: Kind, generation: Option<i64>, result: &ActionResult, now: Timestamp) {
        if kind != Kind::DryRun {
            note(&mut self.kinds, kind, generation, result, now);
        }
    }

    /// Notes what came of an attempt at `now` to create this Pod.
    pub fn note_pod(&mut self, name: &str, generation: Option<i64>, result: &ActionResult, now: Timestamp) {
        note(&mut self.pods, name.to_owned(), generation, result, now);
    }

    /// Forgets Pods that are not to be created any more.
    pub fn keep_pods(&mut self, wanted: impl Fn(&str) -> bool) {
        self.pods.retain(|name, _| wanted(name));
    }

    /// When the first wait is over.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Option<SignedDuration> {
        let holds = self.kinds.values().chain(self.pods.values());
        let waits = holds.map(|hold| hold.until.duration_since(now));
        waits.filter(SignedDuration::is_positive).min()
    }
}

impl Hold {
    fn held(&self, generation: Option<i64>, now: Timestamp) -> Option<&ActionResult> {
        (self.generation == generation && now < self.until).then_some(&self.result)
    }
}

fn note<K: Ord>(holds: &mut BTreeMap<K, Hold>, key: K, generation: Option<i64>, result: &ActionResult, now: Timestamp) {
    let (first, longest) = match result {
        ActionResult::Done | ActionResult::AlreadyOurs => {
            holds.remove(&key);
            return;
        }
        ActionResult::Skipped => return,
        ActionResult::Refused { .. } | ActionResult::NotOurs { .. } => REFUSED,
        ActionResult::Unavailable { .. } => UNAVAILABLE,
    };
    let before = holds.get(&key).filter(|hold| hold.generation == generation);
    let wait = before.map_or(first, |hold| hold.wait.saturating_mul(2).clamp(first, longest));
    let hold = Hold {
        generation,
        result: result.clone(),
        wait,
        until: later(now, wait),
    };
    holds.insert(key, hold);
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
    fn a_pod_whose_name_is_anothers_waits_alone() {
        let taken = ActionResult::NotOurs {
            holder: "Pod p".to_owned(),
        };
        assert!(Kind::CreatePod.fails_alone(&taken));
        assert!(!Kind::CreatePod.fails_alone(&refused()));
        assert!(!Kind::ConfigMap.fails_alone(&taken));
        let mut holds = Holds::default();
        holds.note_pod("p-0-0", Some(1), &taken, at(0));
        assert_eq!(holds.held_pod("p-0-0", Some(1), at(9)), Some(&taken));
        assert_eq!(holds.held_pod("p-1-0", Some(1), at(9)), None);
        assert_eq!(holds.held(Kind::CreatePod, Some(1), at(9)), None);
        assert_eq!(holds.next(at(0)), Some(SignedDuration::from_secs(10)));
        holds.keep_pods(|name| name == "p-1-0");
        assert_eq!(holds.next(at(0)), None);
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
