//! A state of the model: the Pods of one pipeline, its spec, its status, and what the clocks say.
//!
//! Small on purpose: four places of the primary set and one of the canary set, three revisions, at most two live Pods a
//! place. It packs into a `u128`, by which states are told apart. Must never hold what no rule depends on: each bit
//! doubles what there is to explore.

use crate::bits::{Reader, Writer};

/// Number of the place of the canary; the primaries' are 0 to 3.
pub(crate) const CANARY: usize = 4;
/// Number of places.
pub(crate) const PLACES: usize = 5;

/// What the analyses say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Analysis {
    #[default]
    Pending,
    Passed,
    Failed,
}

/// A live Pod as a number: 0 none, 1 to 3 an unavailable one of revision A to C, 4 to 6 an available one.
pub(crate) type Live = u8;

/// Revision of a live Pod.
pub(crate) const fn revision_of(live: Live) -> u8 {
    if live > 3 { live - 3 } else { live }
}

/// Whether there is a live Pod and it is available.
pub(crate) const fn is_available(live: Live) -> bool {
    live > 3
}

/// An ordinal of a set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Place {
    /// The live Pod; of two the earlier one.
    pub(crate) live: Live,
    /// Revision of a Pod that failed and is still there; 0 for none.
    pub(crate) failed: u8,
    /// Terminating Pods; 2 stands for two and more.
    pub(crate) terminating: u8,
}

impl Place {
    pub(crate) const fn revision(self) -> u8 {
        revision_of(self.live)
    }
    pub(crate) const fn is_available(self) -> bool {
        is_available(self.live)
    }
    pub(crate) const fn is_unavailable(self) -> bool {
        self.live > 0 && self.live <= 3
    }
    /// One Pod more is terminating.
    pub(crate) fn ends_one(&mut self) {
        self.terminating = (self.terminating + 1).min(2);
    }
}

/// A Deployment of the Python operator.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Legacy {
    pub(crate) is_there: bool,
    /// Pods that it is to have.
    pub(crate) given: u8,
    pub(crate) available: u8,
    pub(crate) unavailable: u8,
    pub(crate) terminating: u8,
    /// It hangs in a rolling update: Pods beyond its number, which never become available, and when its number changes
    /// Pods that serve go.
    pub(crate) rolling: bool,
}

impl Legacy {
    /// Pods that it shows.
    pub(crate) const fn shown(self) -> u8 {
        self.available + self.unavailable
    }
    /// Consumers that run or are to run in it.
    pub(crate) fn live(self) -> u8 {
        self.given.max(self.shown())
    }
    /// Available ones that are to stay. Which go is not known; its controller takes unavailable ones first.
    pub(crate) fn serving(self) -> u8 {
        self.available.min(self.given)
    }
}

/// A state. Revisions are 1 to 3 (A to C), and 0 for none.
#[allow(clippy::struct_excessive_bools, reason = "independent switches, as in the spec")]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct State {
    pub(crate) places: [Place; PLACES],
    // The spec.
    pub(crate) replicas: u8,
    pub(crate) with_canary: bool,
    pub(crate) revision: u8,
    pub(crate) paused: bool,
    pub(crate) suspend: bool,
    // The status and the ControllerRevisions.
    pub(crate) current: u8,
    pub(crate) update: u8,
    pub(crate) gate_opened_for: u8,
    pub(crate) failed: u8,
    /// Bit mask of the revisions that are marked as completed.
    pub(crate) completed: u8,
    /// The deadline has passed.
    pub(crate) past_deadline: bool,
    /// Revision of which the API server accepted a dry run since the operator started.
    pub(crate) tried: u8,
    // Clocks and others.
    /// No primary Pod has been available for 300 s.
    pub(crate) nothing_to_protect: bool,
    pub(crate) analysis: Analysis,
    /// Not seen by the planner: the gate's own conditions have held for this update revision.
    pub(crate) legitimate: bool,
    /// The last write that the cache does not show yet.
    pub(crate) hidden: Option<Hidden>,
    /// The place that has a second live Pod, and that Pod, the later one.
    pub(crate) second: Option<(usize, Live)>,
    /// Bit mask of the places whose (earlier) live Pod is a predecessor's, or too old where a restart is due.
    pub(crate) foreign: u8,
    pub(crate) legacy: Legacy,
    // What has happened, against the bounds.
    pub(crate) edits: u8,
    pub(crate) faults: u8,
}

/// A write that the cache does not show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hidden {
    pub(crate) place: usize,
    /// The live Pod that was deleted; 0 for a create.
    pub(crate) deleted: Live,
}

impl State {
    pub(crate) fn pack(&self) -> u128 {
        let mut to = Writer::new();
        for place in &self.places {
            to.put(place.live, 3);
            to.put(place.failed, 2);
            to.put(place.terminating, 2);
        }
        to.put(self.replicas, 3);
        to.put(self.revision, 2);
        for flag in [
            self.with_canary,
            self.paused,
            self.suspend,
            self.past_deadline,
            self.nothing_to_protect,
        ] {
            to.put(flag.into(), 1);
        }
        for revision in [self.current, self.update, self.gate_opened_for, self.failed, self.tried] {
            to.put(revision, 2);
        }
        to.put(self.completed, 4);
        to.put(self.analysis as u8, 2);
        to.put(self.legitimate.into(), 1);
        let hidden = self
            .hidden
            .map_or(0, |hidden| 1 + 7 * number(hidden.place) + hidden.deleted);
        to.put(hidden, 6);
        let (place, live) = self.second.map_or((0, 0), |(place, live)| (number(place) + 1, live));
        to.put(place, 3);
        to.put(live, 3);
        to.put(self.foreign, 5);
        let legacy = self.legacy;
        to.put(legacy.is_there.into(), 1);
        to.put(legacy.rolling.into(), 1);
        for count in [legacy.given, legacy.available, legacy.unavailable, legacy.terminating] {
            to.put(count, 3);
        }
        to.put(self.edits, 4);
        to.put(self.faults, 4);
        to.packed()
    }

    pub(crate) fn unpack(packed: u128) -> Self {
        let mut from = Reader::new(packed);
        let mut state = Self::default();
        for place in &mut state.places {
            place.live = from.get(3);
            place.failed = from.get(2);
            place.terminating = from.get(2);
        }
        state.replicas = from.get(3);
        state.revision = from.get(2);
        state.with_canary = from.flag();
        state.paused = from.flag();
        state.suspend = from.flag();
        state.past_deadline = from.flag();
        state.nothing_to_protect = from.flag();
        state.current = from.get(2);
        state.update = from.get(2);
        state.gate_opened_for = from.get(2);
        state.failed = from.get(2);
        state.tried = from.get(2);
        state.completed = from.get(4);
        state.analysis = match from.get(2) {
            0 => Analysis::Pending,
            1 => Analysis::Passed,
            _ => Analysis::Failed,
        };
        state.legitimate = from.flag();
        state.hidden = from.get(6).checked_sub(1).map(|code| Hidden {
            place: usize::from(code / 7),
            deleted: code % 7,
        });
        let (place, live) = (from.get(3), from.get(3));
        state.second = place.checked_sub(1).map(|place| (usize::from(place), live));
        state.foreign = from.get(5);
        state.legacy = Legacy {
            is_there: from.flag(),
            rolling: from.flag(),
            given: from.get(3),
            available: from.get(3),
            unavailable: from.get(3),
            terminating: from.get(3),
        };
        state.edits = from.get(4);
        state.faults = from.get(4);
        state
    }

    /// The state without what happened before: what a planner can tell apart.
    pub(crate) const fn as_seen(mut self) -> Self {
        self.edits = 0;
        self.faults = 0;
        self.legitimate = false;
        self
    }

    /// Pods wanted now.
    pub(crate) const fn wanted(&self) -> u8 {
        if self.suspend { 0 } else { self.replicas }
    }

    pub(crate) const fn wants_canary(&self) -> bool {
        self.with_canary && self.wanted() > 1
    }

    pub(crate) fn primaries(&self) -> u8 {
        self.wanted() - u8::from(self.wants_canary())
    }

    pub(crate) fn is_wanted(&self, place: usize) -> bool {
        if place == CANARY {
            self.wants_canary()
        } else {
            place < usize::from(self.primaries())
        }
    }

    pub(crate) const fn is_foreign(&self, place: usize) -> bool {
        self.foreign >> place & 1 == 1
    }

    /// The second live Pod of a place; 0 for none.
    pub(crate) fn second_of(&self, place: usize) -> Live {
        self.second.filter(|(at, _)| *at == place).map_or(0, |(_, live)| live)
    }

    /// Number of available Pods, two of one place counted once, and of available legacy consumers.
    pub(crate) fn available(&self) -> u8 {
        let serves = |place: &usize| self.places[*place].is_available() || is_available(self.second_of(*place));
        number((0..PLACES).filter(serves).count()) + self.legacy.serving()
    }

    /// Number of wanted places whose Pod failed and has no successor yet.
    pub(crate) fn waiting(&self) -> u8 {
        let waits = |place: &usize| {
            let there = self.places[*place];
            self.is_wanted(*place) && there.live == 0 && there.failed > 0
        };
        number((0..PLACES).filter(waits).count())
    }

    /// All live Pods.
    pub(crate) fn lives(&self) -> impl Iterator<Item = Live> + '_ {
        let second = self.second.map(|(_, live)| live);
        self.places
            .iter()
            .map(|place| place.live)
            .chain(second)
            .filter(|live| *live > 0)
    }

    /// Number of live Pods.
    pub(crate) fn live(&self) -> u8 {
        number(self.lives().count())
    }

    /// The earlier live Pod of a place is gone; a second one takes its part.
    pub(crate) fn lose(&mut self, place: usize) {
        self.places[place].live = self.second_of(place);
        self.foreign &= !(1 << place);
        if self.second.is_some_and(|(at, _)| at == place) {
            self.second = None;
        }
    }

    /// The revision that Pods are to have in the end, and whether the spec's has failed.
    pub(crate) const fn goal(&self) -> (u8, bool) {
        let failed = self.failed == self.revision && self.current != 0;
        (if failed { self.current } else { self.revision }, failed)
    }

    /// In a line: `p0=A+,C?` are two live Pods of primary 0, `p0=C? Ax t1` is an unavailable Pod of C, a failed one of A
    /// and one that is terminating; `+` is available.
    pub(crate) fn show(&self) -> String {
        let mut pods: Vec<String> = Vec::new();
        for (number, place) in self.places.iter().enumerate() {
            let mut words = Vec::new();
            if place.live > 0 {
                let foreign = if self.is_foreign(number) { "old" } else { "" };
                let second = self.second_of(number);
                let second = if second > 0 {
                    format!(",{}", live_text(second))
                } else {
                    String::new()
                };
                words.push(format!("{}{foreign}{second}", live_text(place.live)));
            }
            if place.failed > 0 {
                words.push(format!("{}x", letter(place.failed)));
            }
            if place.terminating > 0 {
                words.push(format!("t{}", place.terminating));
            }
            if !words.is_empty() {
                pods.push(format!("{}={}", place_name(number), words.join(" ")));
            }
        }
        let flags = [
            (self.with_canary, "+canary"),
            (self.paused, " paused"),
            (self.suspend, " suspended"),
            (self.past_deadline, " DEADLINE"),
            (self.nothing_to_protect, " 300s"),
            (self.analysis == Analysis::Passed, " passed"),
            (self.analysis == Analysis::Failed, " analysis-failed"),
            (self.hidden.is_some(), " (cache behind by one write)"),
        ];
        let legacy = self.legacy;
        if legacy.is_there || legacy.terminating > 0 {
            let Legacy {
                given,
                available,
                unavailable,
                terminating,
                ..
            } = legacy;
            pods.push(format!("legacy={given}({available}+ {unavailable}? t{terminating})"));
        }
        let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        format!(
            "{} | spec {} n={}{flags} | current {} update {} gate {} failed {} tried {}",
            pods.join(" "),
            letter(self.revision),
            self.replicas,
            letter(self.current),
            letter(self.update),
            letter(self.gate_opened_for),
            letter(self.failed),
            letter(self.tried),
        )
    }
}

fn live_text(live: Live) -> String {
    format!(
        "{}{}",
        letter(revision_of(live)),
        if is_available(live) { "+" } else { "?" }
    )
}

/// A revision in a letter.
pub(crate) fn letter(revision: u8) -> &'static str {
    ["-", "A", "B", "C"][usize::from(revision)]
}

/// A place in a word.
pub(crate) fn place_name(place: usize) -> String {
    if place == CANARY {
        "c0".to_owned()
    } else {
        format!("p{place}")
    }
}

/// A count of places or Pods, which are few.
pub(crate) fn number(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}
