//! A write on the real state, and what must never happen, judged at that moment.
//!
//! Numbers are counted anew here. Must never ask the planner.

use crate::config::Config;
use crate::planner::Write;
use crate::state::{Analysis, CANARY, Live, State, is_available, letter, number, place_name};

/// Something that must never happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Violation {
    /// The property, with its sign: S safety, Z the way to zero.
    pub(crate) property: &'static str,
    pub(crate) detail: String,
}

impl Violation {
    pub(crate) const fn new(property: &'static str, detail: String) -> Self {
        Self { property, detail }
    }
}

/// A write on the real state `state`; the pass saw `seen` and writes the status of `status`. One whose precondition
/// fails does nothing.
pub(crate) fn apply(
    state: &mut State,
    seen: &State,
    status: &State,
    write: Write,
    config: &Config,
    violations: &mut Vec<Violation>,
) {
    let before = state.available();
    let facts = |of: &State| (of.update, of.current, of.gate_opened_for, of.failed);
    let of_pods = !matches!(write, Write::Status | Write::DryRun(_) | Write::Mark(_));
    if of_pods && facts(state) != facts(status) {
        violations.push(Violation::new(
            "S8 a Pod is written before the facts that allow it",
            write.text(),
        ));
    }
    let mut judge = Judge {
        state,
        config,
        violations,
    };
    match write {
        Write::Status => judge.status(status),
        Write::DryRun(revision) => judge.state.tried = revision,
        Write::Mark(revision) => judge.state.completed |= 1 << revision,
        Write::Delete { place, second: false } if seen.places[place].live == judge.state.places[place].live => {
            judge.delete(place);
        }
        Write::Delete { place, second: true } if seen.second_of(place) == judge.state.second_of(place) => {
            judge.delete_second(place);
        }
        Write::Scale(to) if seen.legacy.given == judge.state.legacy.given => judge.scale(to, seen),
        Write::Delete { .. } | Write::Scale(_) => {}
        Write::RemoveFailed(place) => {
            if judge.state.places[place].failed == seen.places[place].failed {
                judge.state.places[place].failed = 0;
            }
        }
        Write::SetBack => judge.state.legacy.rolling = false,
        Write::DeleteLegacy => judge.delete_legacy(),
        Write::Create(place, revision) => judge.create(place, revision, seen.places[place].failed),
        Write::Beside(place, revision) => judge.beside(place, revision),
    }
    let (wanted, after) = (state.wanted(), state.available());
    if before > 0 && after == 0 && wanted > 0 && (!config.strict || wanted > 1) {
        violations.push(Violation::new(
            "Z1 our write takes the last available consumer",
            write.text(),
        ));
    }
}

struct Judge<'a> {
    state: &'a mut State,
    config: &'a Config,
    violations: &'a mut Vec<Violation>,
}

impl Judge<'_> {
    fn found(&mut self, property: &'static str, detail: String) {
        self.violations.push(Violation::new(property, detail));
    }

    fn canary_passes(&self) -> bool {
        let canary = self.state.places[CANARY];
        let passed = !self.config.analysis || self.state.analysis == Analysis::Passed;
        canary.is_available() && canary.revision() == self.state.revision && passed
    }

    fn status(&mut self, status: &State) {
        let opens = status.gate_opened_for == status.revision && self.state.gate_opened_for != status.gate_opened_for;
        if opens && self.state.revision != self.state.current && self.canary_passes() {
            self.state.legitimate = true;
        }
        let fails = status.failed != self.state.failed && status.failed == self.state.revision && status.failed != 0;
        if fails && self.state.update != status.update && self.state.analysis != Analysis::Failed {
            self.found("S7 a new revision is failed by an old deadline", String::new());
        } else if fails && self.state.revision == self.state.current {
            self.found("S7 the current revision is marked failed", String::new());
        }
        if self.state.update != status.update {
            self.state.legitimate = opens && self.state.legitimate;
        }
        if status.current != self.state.current && !self.config.works(status.current) {
            self.found("S6 a broken revision became current", letter(status.current).to_owned());
        }
        if status.current != self.state.current && self.state.wanted() == 0 {
            self.found(
                "S6 a revision completes while no Pod is wanted",
                letter(status.current).to_owned(),
            );
        }
        self.state.update = status.update;
        self.state.failed = status.failed;
        self.state.gate_opened_for = status.gate_opened_for;
        self.state.current = status.current;
        self.state.completed = status.completed;
        self.state.past_deadline = status.past_deadline;
    }

    fn delete(&mut self, place: usize) {
        if self.state.places[place].live == 0 {
            return;
        }
        if self.state.second_of(place) > 0 {
            let gone = self.state.places[place].live;
            self.of_two(place, gone, |state| state.lose(place));
            return;
        }
        let wanted = self.state.wanted();
        let live = self.state.live() - u8::from(self.state.second.is_some()) + self.state.legacy.live();
        let scales_down = live > wanted;
        let (available, floor) = (self.state.available(), self.config.floor(wanted));
        let there = self.state.places[place];
        if there.is_available() && wanted > 0 && !scales_down && available - 1 < floor {
            let detail = format!("delete {} with {available} available, floor {floor}", place_name(place));
            self.found("S1 available Pods below the floor by our delete", detail);
        }
        self.state.lose(place);
        if there.terminating > 0 && wanted > 0 && self.state.is_wanted(place) && self.state.live() < wanted {
            self.found("S2 a second terminating Pod by our replacement", place_name(place));
        }
        self.state.places[place].ends_one();
    }

    fn delete_second(&mut self, place: usize) {
        let gone = self.state.second_of(place);
        if gone > 0 {
            self.of_two(place, gone, |state| state.second = None);
        }
    }

    /// One of two live Pods of a place goes.
    fn of_two(&mut self, place: usize, gone: Live, lose: impl Fn(&mut State)) {
        let wanted = self.state.wanted();
        if self.state.places[place].terminating > 0 && wanted > 0 {
            self.found("S2 a second terminating Pod by our replacement", place_name(place));
        }
        let before = self.state.available();
        lose(self.state);
        let after = self.state.available();
        if is_available(gone) && after < before && after < self.config.floor(wanted) {
            self.found(
                "S1 available Pods below the floor by our delete",
                "a duplicate".to_owned(),
            );
        }
        self.state.places[place].ends_one();
    }

    fn create(&mut self, place: usize, revision: u8, failed: u8) {
        if self.state.places[place].live > 0 {
            return; // it is there already, and ours
        }
        let there = self.state.places[place];
        if there.terminating > 1 || (self.config.strict && there.terminating > 0) {
            self.found("S2 a Pod made beside too many terminating ones", place_name(place));
        }
        let legacy = self.state.legacy.live();
        let (live, wanted) = (self.state.live() + legacy, self.state.wanted());
        let beside = wanted == 1 && live == 1 && (legacy == 0 || self.config.hands_over(wanted));
        if live >= wanted && !beside {
            let detail = format!("create {} beside {live} for {wanted}", place_name(place));
            self.found("S3 more live Pods than replicas", detail);
        }
        let last = self.canary_is_needed(revision);
        self.state.places[place].live = revision;
        let unavailable = self.unavailable(revision);
        if !self.config.works(revision) && self.state.current != 0 && unavailable > self.config.most_unavailable(wanted)
        {
            let detail = format!(
                "create {}={}: {unavailable} of them",
                place_name(place),
                letter(revision)
            );
            self.found("S4 a broken revision holds more than maxUnavailable Pods", detail);
        }
        let gated = self.state.wants_canary() && self.state.current != 0 && place != CANARY;
        let updates = revision == self.state.revision && revision != self.state.current && failed != revision;
        let excused = self.state.completed >> revision & 1 == 1 || last || self.state.nothing_to_protect;
        if gated && updates && !excused && !self.state.legitimate && !self.canary_passes() {
            let detail = format!("create {}={}", place_name(place), letter(revision));
            self.found(
                "S5 a primary is updated though the gate's conditions never held",
                detail,
            );
        }
    }

    /// Consumers are taken off the legacy Deployment, one after the other.
    fn scale(&mut self, to: u8, seen: &State) {
        let wanted = self.state.wanted();
        // The Deployment gives way before Pods of ours that the same pass deletes.
        let ours = seen.live() + seen.waiting();
        while self.state.legacy.given > to {
            let before = self.state.available();
            let held = self.state.live() + self.state.waiting() + self.state.legacy.given;
            self.state.legacy.given -= 1;
            // The worst that the Deployment controller can make of it.
            if self.state.legacy.rolling && self.state.legacy.given > 0 {
                self.state.legacy.available = self.state.legacy.available.saturating_sub(1);
            }
            let after = self.state.available();
            let is_step = wanted > 0 && held <= wanted;
            if is_step && after < before && after < self.config.floor(wanted) {
                let detail = format!("a legacy consumer with {before} available");
                self.found("S1 available Pods below the floor by our delete", detail);
            }
            if wanted > 0 && ours + self.state.legacy.given < wanted && self.state.paused {
                self.found("S9 a legacy consumer is taken while paused", String::new());
            }
        }
        self.state.legacy.rolling &= self.state.legacy.given > 0;
    }

    fn delete_legacy(&mut self) {
        if self.state.legacy.live() > 0 {
            self.found("S9 a legacy Deployment is deleted with its Pods", String::new());
        }
        self.state.legacy.is_there = false;
    }

    /// The canary has another revision than `revision` and may not go: it is needed as an available Pod.
    fn canary_is_needed(&self, revision: u8) -> bool {
        let canary = self.state.places[CANARY];
        let floor = self.config.floor(self.state.wanted()).max(1);
        canary.is_available() && canary.revision() != revision && self.state.available() <= floor
    }

    fn unavailable(&self, revision: u8) -> u8 {
        let places = self.state.places.iter();
        let of = places.filter(|at| at.live == revision || (at.live == 0 && at.failed == revision));
        number(of.count()) + u8::from(self.state.second.is_some_and(|(_, live)| live == revision))
    }

    fn beside(&mut self, place: usize, revision: u8) {
        if self.state.second.is_some() || self.state.places[place].live == 0 {
            self.found(
                "S2 a third live Pod of an ordinal, or a second one beside nothing",
                place_name(place),
            );
            return;
        }
        let there = self.state.places[place];
        let same = there.revision() == revision && !self.state.is_foreign(place);
        if !self.config.hands_over(self.state.wanted()) || place != 0 || same {
            self.found("S2 a second live Pod outside a hand-over", place_name(place));
        }
        if self.state.live() + self.state.legacy.live() > self.state.wanted() {
            self.found("S3 more than replicas + 1 live Pods", place_name(place));
        }
        if there.terminating > 1 {
            self.found("S2 a Pod made beside too many terminating ones", place_name(place));
        }
        if !self.config.works(revision) && there.live == revision {
            self.found(
                "S4 a broken revision holds more than maxUnavailable Pods",
                place_name(place),
            );
        }
        self.state.second = Some((place, revision));
    }
}
