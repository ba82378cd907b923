//! What is explored: the switches of the pipeline that no edit changes, what happens at most, and where it starts.

use crate::state::{Legacy, PLACES, State, is_available, number, revision_of};

/// Where an exploration starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// All of revision A and available.
    Running,
    /// Nothing there, nothing recorded.
    Empty,
    /// All available and a predecessor's.
    Predecessor,
    /// Two live Pods of primary 0, in every mixture.
    Duplicates,
    /// All of the right revision, and older than `restartAt`.
    Restart,
    /// Nothing of ours, and a Deployment of the Python operator with available Pods.
    Legacy,
    /// The same with Pods that never become available.
    BrokenLegacy,
    /// The same with Pods that serve, and a rolling update that hangs: Pods of another template beyond its number.
    RollingLegacy,
}

/// What is explored.
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) start: Start,
    /// `replicas` at the start.
    pub(crate) replicas: u8,
    /// Up to which a person scales; 4 at most.
    pub(crate) most_replicas: u8,
    pub(crate) max_unavailable: u8,
    /// `podReplacementPolicy: Failed`.
    pub(crate) strict: bool,
    /// `onFailure: Rollback`.
    pub(crate) rollback: bool,
    /// An Enforce analysis names the pipeline.
    pub(crate) analysis: bool,
    /// Bit mask of the revisions that work: bit 1 is A.
    pub(crate) works: u8,
    /// Pods that do not work hang instead of failing, and a revision that failed works no more.
    pub(crate) hangs: bool,
    /// Revisions that a person edits to: the first so many.
    pub(crate) revisions: u8,
    /// Edits at most in a run; 15 and more for any number.
    pub(crate) edits: u8,
    /// Faults at most in a run; 15 and more for any number.
    pub(crate) faults: u8,
    /// Whether a pass may see a cache that does not show the last write of the one before.
    pub(crate) stale: bool,
    /// States at most.
    pub(crate) limit: usize,
}

impl Config {
    /// `replicas` Pods of A that run; B is broken, A and C work.
    pub(crate) const fn running(replicas: u8) -> Self {
        Self {
            start: Start::Running,
            replicas,
            most_replicas: 3,
            max_unavailable: 1,
            strict: false,
            rollback: false,
            analysis: false,
            works: 0b1010,
            hangs: false,
            revisions: 3,
            edits: 2,
            faults: 1,
            stale: false,
            limit: usize::MAX,
        }
    }

    pub(crate) const fn works(&self, revision: u8) -> bool {
        self.works >> revision & 1 == 1
    }

    /// Whether an update makes the successor beside the old Pod.
    pub(crate) const fn hands_over(&self, wanted: u8) -> bool {
        wanted == 1 && !self.strict
    }

    /// `maxUnavailable` as it counts.
    pub(crate) fn most_unavailable(&self, wanted: u8) -> u8 {
        self.max_unavailable.min(wanted.saturating_sub(1).max(1))
    }

    /// Below this many available Pods the operator may not go.
    pub(crate) fn floor(&self, wanted: u8) -> u8 {
        if self.hands_over(wanted) {
            1
        } else {
            wanted.saturating_sub(self.most_unavailable(wanted))
        }
    }

    /// The same for surplus Pods, which have other ordinals, so that the policy does not matter.
    pub(crate) fn surplus_floor(&self, wanted: u8) -> u8 {
        self.floor(wanted).max(wanted.min(1))
    }

    /// The states from which everything starts.
    pub(crate) fn starts(&self) -> Vec<State> {
        let base = |with_canary| State {
            replicas: self.replicas,
            with_canary,
            revision: 1,
            update: 1,
            ..State::default()
        };
        let of = |with_canary| match self.start {
            Start::Empty => vec![base(with_canary)],
            Start::Running => vec![running(base(with_canary))],
            Start::Restart => {
                let mut state = running(base(with_canary));
                state.foreign = wanted_places(&state);
                vec![state]
            }
            Start::Legacy | Start::BrokenLegacy | Start::RollingLegacy => {
                let mut state = base(with_canary);
                let rolling = self.start == Start::RollingLegacy;
                // What the Deployment controller does by default: a quarter may be away, and a quarter more be there.
                let away = match self.start {
                    Start::BrokenLegacy => self.replicas,
                    Start::RollingLegacy => self.replicas / 4,
                    _ => 0,
                };
                let surge = if rolling { self.replicas.div_ceil(4) } else { 0 };
                state.update = 0;
                state.legacy = Legacy {
                    is_there: true,
                    given: self.replicas,
                    available: self.replicas - away,
                    unavailable: away + surge,
                    terminating: 0,
                    rolling,
                };
                vec![state]
            }
            Start::Predecessor => {
                let mut state = running(base(with_canary));
                state.foreign = wanted_places(&state);
                (state.update, state.current, state.completed) = (0, 0, 0);
                vec![state]
            }
            Start::Duplicates => self.duplicates(running(base(with_canary))),
        };
        [false, true].into_iter().flat_map(of).collect()
    }

    /// Two live Pods of primary 0, in every mixture in which only Pods that work are available.
    fn duplicates(&self, state: State) -> Vec<State> {
        let pairs = [
            (1, 4),
            (4, 1),
            (1, 1),
            (4, 4),
            (1, 2),
            (2, 1),
            (4, 2),
            (2, 4),
            (5, 4),
            (4, 5),
        ];
        let possible = |live: u8| !is_available(live) || self.works(revision_of(live));
        let mut all = Vec::new();
        for (first, second) in pairs {
            if possible(first) && possible(second) {
                let mut same = state;
                same.places[0].live = first;
                same.second = Some((0, second));
                all.push(same);
                all.push(State { revision: 2, ..same });
            }
        }
        all
    }
}

fn wanted_places(state: &State) -> u8 {
    (0..PLACES)
        .filter(|place| state.is_wanted(*place))
        .fold(0, |mask, place| mask | 1 << place)
}

fn running(mut state: State) -> State {
    for place in 0..PLACES {
        if state.is_wanted(place) {
            state.places[place].live = 4;
        }
    }
    state.current = 1;
    state.completed = 1 << 1;
    state.tried = 1;
    state
}

/// The words of a configuration, as it is printed.
impl std::fmt::Display for Config {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bound = |most: u8| if most < 15 { most.to_string() } else { "any".to_owned() };
        write!(
            out,
            "{:?} n={} up to {} maxUnavailable={} {} {}{} working={}{} edits={} faults={}{}",
            self.start,
            self.replicas,
            self.most_replicas,
            self.max_unavailable,
            if self.strict { "Failed" } else { "TerminatingOrFailed" },
            if self.rollback { "Rollback" } else { "Pause" },
            if self.analysis { " analysis" } else { "" },
            (1..=3)
                .filter(|revision| self.works(*revision))
                .map(crate::state::letter)
                .collect::<String>(),
            if self.hangs { " hanging" } else { "" },
            bound(self.edits),
            bound(self.faults),
            if self.stale { " stale" } else { "" },
        )
    }
}

/// Whether one more of something still fits below a bound, and the count after it.
pub(crate) fn one_more(count: u8, most: u8) -> Option<u8> {
    if most >= 15 {
        return Some(count);
    }
    (count < most).then(|| number(usize::from(count) + 1))
}
