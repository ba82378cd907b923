//! The rules as they read, as a program of their own: one pass, decided from numbers and bits alone.
//!
//! Written before the product, from the sentences, to be compared with its planner write by write
//! ([`crate::compare`]). Dry runs it knows not. Must never call into the product.

use crate::config::Config;
use crate::planner::{Pass, Planner, Write};
use crate::state::{Analysis, CANARY, Live, PLACES, State, is_available, number, revision_of};

/// The rules for one configuration.
pub(crate) struct Rules(pub(crate) Config);

impl Planner for Rules {
    fn pass(&self, seen: &State) -> Pass {
        let status = self.status(seen);
        let open = gate_is_open(&self.0, &status);
        let mut plan = Plan::new(&self.0, status, open);
        if status != *seen {
            plan.writes.push(Write::Status);
        }
        plan.pods();
        Pass {
            writes: plan.writes,
            status,
            deadline_runs: deadline_runs(&self.0, &status),
            counts_300s: status.wants_canary() && status.current != 0 && !primary_serves(&status),
        }
    }
}

impl Rules {
    fn status(&self, seen: &State) -> State {
        let config = &self.0;
        let mut state = *seen;
        if state.update != state.revision {
            state.update = state.revision;
            state.failed = 0;
            state.gate_opened_for = 0;
            state.past_deadline = false;
        }
        let may_fail = state.current != 0 && state.revision != state.current;
        if may_fail && (state.analysis == Analysis::Failed || (state.past_deadline && config.rollback)) {
            state.failed = state.revision;
        }
        let (wanted, failed) = state.goal();
        if gate_opens(config, &state, wanted) && !failed {
            state.gate_opened_for = wanted;
            state.past_deadline = false;
        }
        if !failed && gate_is_open(config, &state) && is_done(&state, wanted) {
            state.current = wanted;
            state.completed |= 1 << wanted;
            state.past_deadline = false;
        }
        state
    }
}

/// The gate's own conditions hold, and it was not open before.
fn gate_opens(config: &Config, state: &State, wanted: u8) -> bool {
    let canary = state.places[CANARY];
    let exists = state.wants_canary() && state.current != 0;
    let passed = !config.analysis || state.analysis == Analysis::Passed;
    exists && state.gate_opened_for != wanted && canary.is_available() && canary.revision() == wanted && passed
}

pub(crate) fn gate_is_open(config: &Config, state: &State) -> bool {
    let (wanted, _) = state.goal();
    let exists = state.wants_canary() && state.current != 0;
    !exists
        || state.gate_opened_for == wanted
        || gate_opens(config, state, wanted)
        || wanted == state.current
        || state.completed >> wanted & 1 == 1
        || state.nothing_to_protect
}

fn primary_serves(state: &State) -> bool {
    (0..CANARY).any(|place| state.places[place].is_available() || is_available(state.second_of(place)))
}

fn is_done(state: &State, revision: u8) -> bool {
    let as_wanted = |place: usize| {
        let there = state.places[place];
        if state.is_wanted(place) {
            there.is_available() && there.revision() == revision && !state.is_foreign(place)
        } else {
            there.live == 0
        }
    };
    state.wanted() > 0 && state.second.is_none() && (0..PLACES).all(as_wanted)
}

pub(crate) fn is_rolling(state: &State) -> bool {
    state.current != state.revision || state.lives().any(|live| revision_of(live) != state.revision)
}

fn deadline_runs(config: &Config, state: &State) -> bool {
    let (wanted, failed) = state.goal();
    let stopped = state.paused || state.wanted() == 0 || failed || state.revision == state.current;
    if stopped || state.past_deadline || !is_rolling(state) {
        return false;
    }
    let canary = state.places[CANARY];
    let gated = state.wants_canary() && state.current != 0 && state.gate_opened_for != wanted;
    let waits = canary.is_available() && canary.revision() == wanted;
    !(gated && waits && config.analysis && state.analysis != Analysis::Passed)
}

/// A pass over the Pods: the working copy, and the writes so far.
struct Plan<'a> {
    config: &'a Config,
    state: State,
    wanted: u8,
    failed: bool,
    frozen: bool,
    open: bool,
    current: u8,
    most_unavailable: u8,
    floor: u8,
    writes: Vec<Write>,
}

impl<'a> Plan<'a> {
    fn new(config: &'a Config, state: State, open: bool) -> Self {
        let (wanted, failed) = state.goal();
        Self {
            config,
            state,
            wanted,
            failed,
            frozen: state.paused || (failed && !config.rollback),
            open,
            current: if state.current == 0 { wanted } else { state.current },
            most_unavailable: config.most_unavailable(state.wanted()),
            floor: config.floor(state.wanted()),
            writes: Vec::new(),
        }
    }

    fn pods(&mut self) {
        if self.state.wanted() == 0 {
            self.drain();
            return;
        }
        self.duplicates();
        self.ended();
        self.surplus();
        let canary_waits = self.canary_waits();
        if !self.frozen {
            self.canary();
            self.primaries(canary_waits);
        }
        if self.failed && self.frozen && !self.state.paused {
            self.failed_in_place();
        }
        self.creates(canary_waits);
        self.hand_over();
    }

    fn delete(&mut self, place: usize) {
        self.writes.push(Write::Delete { place, second: false });
        self.state.places[place].live = 0;
        self.state.places[place].ends_one();
    }

    fn remove_failed(&mut self, place: usize) {
        self.writes.push(Write::RemoveFailed(place));
        self.state.places[place].failed = 0;
    }

    fn is_of_wanted(&self, live: Live, foreign: bool) -> bool {
        revision_of(live) == self.wanted && !foreign
    }

    /// Two live Pods of the place that both stay.
    fn in_hand_over(&self) -> bool {
        let Some((0, later)) = self.state.second else {
            return false;
        };
        let (earlier, foreign) = (self.state.places[0].live, self.state.is_foreign(0));
        let stays = |live: Live, foreign: bool| is_available(live) || (revision_of(live) == self.current && !foreign);
        let both = match (self.is_of_wanted(earlier, foreign), self.is_of_wanted(later, false)) {
            (true, false) => !is_available(earlier) && stays(later, false),
            (false, true) => !is_available(later) && stays(earlier, foreign),
            _ => false,
        };
        self.config.hands_over(self.state.wanted()) && both
    }

    fn duplicates(&mut self) {
        let Some((place, later)) = self.state.second else {
            return;
        };
        if self.state.places[place].terminating > 0 || self.in_hand_over() {
            return;
        }
        let (earlier, foreign) = (self.state.places[place].live, self.state.is_foreign(place));
        let of_earlier = (is_available(earlier), self.is_of_wanted(earlier, foreign), false);
        let of_later = (is_available(later), self.is_of_wanted(later, false), true);
        let second = of_later < of_earlier;
        self.writes.push(Write::Delete { place, second });
        if second {
            self.state.second = None;
        } else {
            self.state.lose(place);
        }
        self.state.places[place].ends_one();
    }

    fn drain(&mut self) {
        for place in 0..PLACES {
            if self.state.second_of(place) > 0 {
                self.writes.push(Write::Delete { place, second: true });
            }
            if self.state.places[place].live > 0 {
                self.delete(place);
            }
            if self.state.places[place].failed > 0 {
                self.remove_failed(place);
            }
        }
    }

    /// A failed Pod beside a live one, or at a place that is not wanted.
    fn ended(&mut self) {
        for place in 0..PLACES {
            let there = self.state.places[place];
            let successor = place == 0
                && self.config.hands_over(self.state.wanted())
                && !self.frozen
                && self.state.second.is_none()
                && there.failed == self.wanted
                && !self.is_of_wanted(there.live, self.state.is_foreign(0))
                && self.state.live() <= 1;
            let goes = if there.live > 0 {
                !successor
            } else {
                !self.state.is_wanted(place)
            };
            if there.failed > 0 && goes {
                self.remove_failed(place);
            }
        }
    }

    fn surplus(&mut self) {
        let floor = self.config.surplus_floor(self.state.wanted());
        let mut order: Vec<usize> = (0..PLACES)
            .filter(|place| !self.state.is_wanted(*place) && self.state.places[*place].live > 0)
            .collect();
        order.sort_by_key(|place| (self.state.places[*place].is_available(), std::cmp::Reverse(*place)));
        for place in order {
            if self.state.places[place].is_unavailable() || self.state.available() > floor {
                self.delete(place);
            }
        }
    }

    fn updated_unavailable(&self) -> u8 {
        let of = |place: &usize| {
            let there = self.state.places[*place];
            let alone = there.live == 0 || there.revision() != self.wanted;
            (there.is_unavailable() && there.revision() == self.wanted) || (there.failed == self.wanted && alone)
        };
        let second = self.state.second.is_some_and(|(_, live)| live == self.wanted);
        number((0..PLACES).filter(of).count()) + u8::from(second)
    }

    fn may_try(&self) -> bool {
        self.updated_unavailable() < self.most_unavailable
    }

    fn canary_stays(&self) -> bool {
        self.state.available() <= self.floor.max(1)
    }

    fn canary_waits(&self) -> bool {
        let canary = self.state.places[CANARY];
        let old = self.state.wants_canary() && canary.is_available() && canary.revision() != self.wanted;
        old && self.canary_stays()
    }

    /// The one live Pod of the place is of another revision, and may be replaced without a second one terminating.
    fn is_outdated(&self, place: usize) -> bool {
        let there = self.state.places[place];
        let outdated = there.live > 0 && !self.is_of_wanted(there.live, self.state.is_foreign(place));
        outdated && self.state.second_of(place) == 0 && there.terminating == 0
    }

    fn is_of_current(&self, place: usize) -> bool {
        self.state.places[place].revision() == self.current && !self.state.is_foreign(place)
    }

    fn canary(&mut self) {
        if !self.state.wants_canary() || !self.is_outdated(CANARY) {
            return;
        }
        let affordable = self.state.places[CANARY].is_unavailable() || !self.canary_stays();
        if affordable && (!self.is_of_current(CANARY) || self.may_try()) {
            self.delete(CANARY);
        }
    }

    fn primaries(&mut self, canary_waits: bool) {
        let mut order: Vec<usize> = (0..usize::from(self.state.primaries()))
            .filter(|at| self.is_outdated(*at))
            .collect();
        order.sort_by_key(|place| (self.state.places[*place].is_available(), *place));
        for place in order {
            let current = self.is_of_current(place);
            let goes = if self.state.places[place].is_available() {
                let held = self.state.past_deadline && !self.failed && current && self.updated_unavailable() > 0;
                let useless = current && !self.may_try();
                self.open && !held && !useless && self.state.available() > self.floor
            } else {
                !current || ((self.open || canary_waits) && self.may_try())
            };
            if goes {
                self.delete(place);
            }
        }
    }

    fn failed_in_place(&mut self) {
        for place in 0..PLACES {
            let there = self.state.places[place];
            let broken =
                there.is_unavailable() && there.revision() == self.state.revision && there.revision() != self.wanted;
            if broken && self.state.is_wanted(place) && there.terminating == 0 && self.state.second_of(place) == 0 {
                self.delete(place);
            }
        }
    }

    fn creates(&mut self, canary_waits: bool) {
        for place in [CANARY, 0, 1, 2, 3] {
            let there = self.state.places[place];
            let full = there.terminating > 1 || (self.config.strict && there.terminating > 0);
            if !self.state.is_wanted(place) || there.live > 0 || full {
                continue;
            }
            let surplus = self.state.live() == 1 && self.state.places.iter().any(|other| other.is_available());
            let takes_over = self.state.wanted() == 1 && place == 0 && surplus;
            if self.state.live() >= self.state.wanted() && !takes_over {
                break;
            }
            let revision = self.choose(place, canary_waits);
            self.writes.push(Write::Create(place, revision));
            self.state.places[place].live = revision;
            self.state.foreign &= !(1 << place);
            if there.failed > 0 {
                self.remove_failed(place);
            }
        }
    }

    /// Which revision a created Pod gets.
    fn choose(&self, place: usize, canary_waits: bool) -> u8 {
        let unavailable = self.updated_unavailable();
        let wanted = if self.frozen || self.failed {
            false
        } else if self.state.places[place].failed == self.wanted {
            unavailable <= self.most_unavailable
        } else {
            unavailable < self.most_unavailable && (place == CANARY || canary_waits || self.open)
        };
        if wanted { self.wanted } else { self.current }
    }

    /// Two places in the one ordinal.
    fn hand_over(&mut self) {
        let there = self.state.places[0];
        let due = self.config.hands_over(self.state.wanted()) && there.live > 0 && self.state.live() == 1;
        if !due || there.terminating > 1 {
            return;
        }
        let revision = if self.is_of_wanted(there.live, self.state.is_foreign(0)) {
            let other = self.state.current != 0 && self.state.current != self.wanted;
            (there.is_unavailable() && other).then_some(self.state.current)
        } else {
            (!self.frozen && (there.is_available() || there.failed == self.wanted)).then_some(self.wanted)
        };
        let Some(revision) = revision else { return };
        self.writes.push(Write::Beside(0, revision));
        self.state.second = Some((0, revision));
        if there.failed > 0 {
            self.remove_failed(0);
        }
    }
}
