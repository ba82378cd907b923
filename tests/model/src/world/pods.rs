//! What becomes of Pods: they start, fail, end, and are hit by faults.

use super::Steps;
use crate::config::{Config, Start};
use crate::state::{Legacy, Live, PLACES, State, is_available, letter, place_name, revision_of};

impl Steps<'_> {
    pub(super) fn pods(&mut self) {
        for place in 0..PLACES {
            // Events of a Pod come after the write that they follow.
            if self.from.hidden.is_some_and(|hidden| hidden.place == place) {
                continue;
            }
            self.first(place);
            self.second(place);
            self.dead(place);
        }
    }

    /// What the controller of the legacy Deployment does, and what becomes of its Pods.
    pub(super) fn legacy(&mut self) {
        let there = self.from.legacy;
        if there.terminating > 0 {
            let terminating = there.terminating - 1;
            self.legacy_is(Legacy { terminating, ..there }, "a terminating Pod is gone");
        }
        if there.rolling {
            return;
        }
        if there.is_there && there.shown() > there.given {
            let mut after = there;
            let goes = if there.unavailable > 0 {
                &mut after.unavailable
            } else {
                &mut after.available
            };
            *goes -= 1;
            after.terminating += 1;
            self.legacy_is(after, "one Pod terminates");
        } else if there.is_there && there.shown() < there.given {
            let unavailable = there.unavailable + 1;
            self.legacy_is(Legacy { unavailable, ..there }, "one Pod is made");
        }
        if there.unavailable > 0 && self.config.start != Start::BrokenLegacy {
            let mut after = there;
            after.available += 1;
            after.unavailable -= 1;
            self.legacy_is(after, "one Pod becomes available");
        }
        if there.available > 0 {
            let lose = |to: &mut State| {
                to.legacy.available -= 1;
                to.legacy.unavailable += 1;
            };
            self.fault(lose, || "legacy: a Pod is no longer ready".to_owned());
        }
    }

    fn legacy_is(&mut self, legacy: Legacy, what: &'static str) {
        let mut to = self.from;
        to.legacy = legacy;
        self.push(to, || format!("legacy: {what}"));
    }

    /// The live Pod, of two the earlier one.
    fn first(&mut self, place: usize) {
        let from = self.from;
        let there = from.places[place];
        if there.live == 0 {
            return;
        }
        let say = |what: &str| format!("{} ({}) {what}", place_name(place), letter(there.revision()));
        let works = works(self.config, &from, there.live) || from.is_foreign(place);
        if there.is_unavailable() && works {
            let mut to = from;
            to.places[place].live += 3;
            if !from.is_foreign(place) {
                progress(&mut to, there.revision());
            }
            self.push(to, || say("becomes available"));
        } else if there.is_unavailable() && there.failed == 0 && !self.config.hangs {
            let mut to = from;
            fail_first(&mut to, place);
            self.push(to, || say("fails"));
        }
        if there.failed == 0 && (there.is_available() || works) {
            self.fault(|to| fail_first(to, place), || say("fails"));
        }
        let evict = |to: &mut State| {
            to.lose(place);
            to.places[place].ends_one();
        };
        self.fault(evict, || say("is deleted"));
        if there.is_available() {
            self.fault(|to| to.places[place].live -= 3, || say("is no longer ready"));
        }
    }

    /// The second live Pod of a place.
    fn second(&mut self, place: usize) {
        let from = self.from;
        let live = from.second_of(place);
        if live == 0 {
            return;
        }
        let revision = revision_of(live);
        let say = |what: &str| format!("the later {} ({}) {what}", place_name(place), letter(revision));
        let none_failed = from.places[place].failed == 0;
        if !is_available(live) && works(self.config, &from, live) {
            let mut to = from;
            to.second = Some((place, live + 3));
            progress(&mut to, revision);
            self.push(to, || say("becomes available"));
        } else if !is_available(live) && none_failed && !self.config.hangs {
            let mut to = from;
            fail_second(&mut to, place, revision);
            self.push(to, || say("fails"));
        }
        if none_failed && (is_available(live) || works(self.config, &from, live)) {
            self.fault(|to| fail_second(to, place, revision), || say("fails"));
        }
        let evict = |to: &mut State| {
            to.second = None;
            to.places[place].ends_one();
        };
        self.fault(evict, || say("is deleted"));
        if is_available(live) {
            self.fault(|to| to.second = Some((place, live - 3)), || say("is no longer ready"));
        }
    }

    fn dead(&mut self, place: usize) {
        let from = self.from;
        let there = from.places[place];
        if there.terminating > 0 {
            let mut to = from;
            to.places[place].terminating -= 1;
            self.push(to, || format!("a terminating {} is gone", place_name(place)));
        }
        if there.failed > 0 && there.live == 0 {
            let collect = |to: &mut State| to.places[place].failed = 0;
            self.fault(collect, || {
                format!("the failed {} is garbage-collected", place_name(place))
            });
        }
    }
}

fn works(config: &Config, state: &State, live: Live) -> bool {
    let soured = config.hangs && state.failed == revision_of(live);
    config.works(revision_of(live)) && !soured
}

/// An updated Pod became available: the clock of the deadline begins anew.
fn progress(state: &mut State, revision: u8) {
    if revision == state.revision {
        state.past_deadline = false;
    }
}

fn fail_first(state: &mut State, place: usize) {
    let revision = state.places[place].revision();
    state.lose(place);
    state.places[place].failed = revision;
}

fn fail_second(state: &mut State, place: usize, revision: u8) {
    state.second = None;
    state.places[place].failed = revision;
}
