//! Own writes that the cache does not show yet.
//!
//! Caches lag behind the API server. A plan made from a cache alone would create a Pod twice or count one as available
//! that it deleted a moment ago. So each write is noted here and laid over what the cache shows, until the cache has
//! shown it: a Pod that was created is there and unavailable, one that was deleted is terminating. An entry never
//! expires by time: expectations that do turn into surplus Pods.
//!
//! One ledger a pipeline. The shell feeds it with what it sends and with the events of its Pod watch, in their order.
//! Must never forget a write that the cache may still not show.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::names::Revision;
use super::plan::PodPlan;
use super::settings::{Settings, later};

/// Own writes that the cache does not show yet, and what is remembered of a pipeline between two passes.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    created: BTreeMap<String, Created>,
    deleted: BTreeMap<String, Deleted>,
    /// Counts the lists that have begun; what was written before the list that has just ended is in it.
    list: u64,
    dry_run: Option<(Revision, DryRun)>,
}

/// A Pod that was created, or may have been.
#[derive(Clone, Debug)]
pub struct Created {
    /// What was sent.
    pub plan: PodPlan,
    /// Uid, once the API server has answered.
    pub uid: Option<String>,
    /// When it was sent.
    pub at: Timestamp,
    list: u64,
}

/// A Pod whose deletion was sent.
#[derive(Clone, Debug)]
struct Deleted {
    answered: bool,
    list: u64,
}

/// What the API server said to the first Pod of a revision before any Pod was replaced for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It is asked, and has not answered.
    Asked,
    /// It would be created.
    Accepted,
    /// It would not; asked at this time.
    Refused {
        /// How long is waited before it is asked again.
        wait: SignedDuration,
        /// When it may be asked again.
        again: Timestamp,
    },
}

impl Ledger {
    /// To be called before a create is sent, so that no event can come before the note.
    pub fn creating(&mut self, plan: &PodPlan, at: Timestamp) {
        let entry = Created {
            plan: plan.clone(),
            uid: None,
            at,
            list: self.list,
        };
        self.created.insert(plan.name.to_string(), entry);
    }

    /// The API server answered: the Pod `name` is there with this uid (created, or ours already). Nothing happens when
    /// the cache has shown it in the meantime.
    pub fn created(&mut self, name: &str, uid: &str) {
        let list = self.list;
        if let Some(entry) = self.created.get_mut(name) {
            entry.uid = Some(uid.to_owned());
            entry.list = list;
        }
    }

    /// The API server refused the create, or a live look found nothing under the name: no such Pod is there.
    pub fn not_created(&mut self, name: &str) {
        self.created.remove(name);
    }

    /// Names of Pods whose create got no answer. They count as there until a live GET says [`Ledger::created`] or
    /// [`Ledger::not_created`], or the cache shows them.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        self.created
            .iter()
            .filter(|(_, entry)| entry.uid.is_none())
            .map(|(name, _)| name.as_str())
    }

    /// To be called before the delete of the Pod with this uid is sent.
    pub fn deleting(&mut self, uid: &str) {
        let entry = Deleted {
            answered: false,
            list: self.list,
        };
        self.deleted.insert(uid.to_owned(), entry);
    }

    /// The API server answered that the Pod is being deleted or is gone already (404, or 409 for another uid).
    pub fn deleted(&mut self, uid: &str) {
        let list = self.list;
        if let Some(entry) = self.deleted.get_mut(uid) {
            *entry = Deleted { answered: true, list };
        }
    }

    /// The API server refused the delete: the Pod is as it was.
    pub fn not_deleted(&mut self, uid: &str) {
        self.deleted.remove(uid);
    }

    /// The watch showed this Pod, added or changed. `terminating`: it has a deletionTimestamp.
    pub fn saw_applied(&mut self, name: &str, uid: &str, terminating: bool) {
        let is_this = |entry: &Created| entry.uid.as_deref().is_none_or(|known| known == uid);
        if self.created.get(name).is_some_and(is_this) {
            self.created.remove(name);
        }
        if terminating {
            self.deleted.remove(uid);
        }
    }

    /// The watch showed that this Pod is gone.
    pub fn saw_deleted(&mut self, name: &str, uid: &str) {
        self.saw_applied(name, uid, true);
    }

    /// A new list of all Pods begins; it is a consistent read, so every write that was answered by now is in it.
    pub fn list_began(&mut self) {
        self.list += 1;
    }

    /// The list that began last is in the cache as a whole: what was answered before it began needs no overlay.
    pub fn list_ended(&mut self) {
        let list = self.list;
        self.created
            .retain(|_, entry| entry.uid.is_none() || entry.list >= list);
        self.deleted.retain(|_, entry| !entry.answered || entry.list >= list);
    }

    /// Pods that were created and are not shown yet.
    pub fn unseen(&self) -> impl Iterator<Item = &Created> {
        self.created.values()
    }

    /// Whether the deletion of the Pod with this uid was sent and is not shown yet.
    #[must_use]
    pub fn is_deleted(&self, uid: &str) -> bool {
        self.deleted.contains_key(uid)
    }

    /// The API server is going to be asked about the first Pod of `revision`. To be called before anything of the pass is
    /// written, for what fails on the way leaves it unasked, and places must not stay empty for that. A refusal is
    /// remembered until there is another answer.
    pub fn dry_run_asked(&mut self, revision: &Revision) {
        if self.dry_run_of(revision).is_none() {
            self.dry_run = Some((revision.clone(), DryRun::Asked));
        }
    }

    /// The API server would create the first Pod of `revision`.
    pub fn dry_run_accepted(&mut self, revision: &Revision) {
        self.dry_run = Some((revision.clone(), DryRun::Accepted));
    }

    /// The API server would refuse the first Pod of `revision`; the wait before it is asked again doubles each time.
    pub fn dry_run_refused(&mut self, revision: &Revision, now: Timestamp, settings: &Settings) {
        let wait = match self.dry_run_of(revision) {
            Some(DryRun::Refused { wait, .. }) => wait.saturating_mul(2).min(settings.backoff_max),
            Some(DryRun::Accepted | DryRun::Asked) | None => settings.backoff_base,
        };
        let again = later(now, wait);
        self.dry_run = Some((revision.clone(), DryRun::Refused { wait, again }));
    }

    /// What the last dry run of `revision` gave; `None` when it was not asked since the start of the operator, or
    /// another revision was asked since.
    #[must_use]
    pub fn dry_run_of(&self, revision: &Revision) -> Option<&DryRun> {
        self.dry_run
            .as_ref()
            .filter(|(asked, _)| asked == revision)
            .map(|(_, answer)| answer)
    }

    /// Whether nothing is remembered, so that the ledger may be dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.deleted.is_empty() && self.dry_run.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::{PodName, WorkloadSet};
    use super::super::plan::CreateReason;
    use super::super::plan::fixtures::{at, revision};
    use super::*;

    fn with_a_create() -> Ledger {
        let mut ledger = Ledger::default();
        let plan = PodPlan {
            name: PodName::parse("svc-0-0").expect("a Pod name"),
            set: WorkloadSet::Primary,
            revision: revision('a'),
            failures: 0,
            why: CreateReason::Missing,
            replaces: None,
        };
        ledger.creating(&plan, at(0));
        ledger
    }

    fn unseen(ledger: &Ledger) -> usize {
        ledger.unseen().count()
    }

    #[test]
    fn a_create_is_remembered_until_the_watch_shows_that_very_pod() {
        let mut ledger = with_a_create();
        ledger.created("svc-0-0", "new");
        ledger.saw_applied("svc-0-0", "old", true);
        assert_eq!(unseen(&ledger), 1);
        ledger.saw_applied("svc-0-0", "new", false);
        assert!(ledger.is_empty());
    }

    #[test]
    fn a_pod_that_came_and_went_is_remembered_no_more() {
        let mut ledger = with_a_create();
        ledger.created("svc-0-0", "new");
        ledger.saw_deleted("svc-0-0", "new");
        assert!(ledger.is_empty());
    }

    #[test]
    fn an_event_that_comes_before_the_answer_is_not_missed() {
        let mut ledger = with_a_create();
        ledger.saw_applied("svc-0-0", "new", false);
        ledger.created("svc-0-0", "new");
        assert!(ledger.is_empty());
    }

    #[test]
    fn a_create_without_an_answer_outlives_a_list_and_is_looked_up() {
        let mut ledger = with_a_create();
        ledger.list_began();
        ledger.list_ended();
        assert_eq!(ledger.unanswered().collect::<Vec<_>>(), ["svc-0-0"]);
        ledger.not_created("svc-0-0");
        assert!(ledger.is_empty());
    }

    #[test]
    fn a_list_clears_what_was_answered_before_it_began_and_nothing_later() {
        let mut ledger = with_a_create();
        ledger.created("svc-0-0", "new");
        ledger.list_began();
        ledger.deleting("late");
        ledger.deleted("late");
        ledger.list_ended();
        assert_eq!((unseen(&ledger), ledger.is_deleted("late")), (0, true));
        ledger.list_began();
        ledger.list_ended();
        assert!(ledger.is_empty());
    }

    #[test]
    fn a_delete_is_remembered_until_the_pod_is_seen_terminating_or_gone() {
        let mut ledger = Ledger::default();
        ledger.deleting("uid");
        ledger.saw_applied("svc-0-0", "uid", false);
        assert!(ledger.is_deleted("uid"));
        ledger.saw_applied("svc-0-0", "uid", true);
        assert!(!ledger.is_deleted("uid"));
        ledger.deleting("other");
        ledger.not_deleted("other");
        assert!(ledger.is_empty());
    }

    #[test]
    fn a_refused_dry_run_is_asked_again_after_twice_the_time() {
        let mut ledger = Ledger::default();
        let settings = Settings::default();
        let again = |ledger: &Ledger| match ledger.dry_run_of(&revision('a')) {
            Some(DryRun::Refused { again, .. }) => Some(*again),
            _ => None,
        };
        ledger.dry_run_refused(&revision('a'), at(0), &settings);
        assert_eq!(again(&ledger), Some(at(10)));
        ledger.dry_run_refused(&revision('a'), at(10), &settings);
        assert_eq!(again(&ledger), Some(at(30)));
        for _ in 0..9 {
            ledger.dry_run_refused(&revision('a'), at(100), &settings);
        }
        assert_eq!(again(&ledger), Some(at(400)));
        ledger.dry_run_accepted(&revision('b'));
        assert_eq!(
            ledger.dry_run_of(&revision('a')),
            None,
            "only the last revision is remembered"
        );
    }
}
