//! Every single edit that a person can make.

use crate::config::Config;
use crate::state::{Analysis, State};

/// Every edit of a state, with what it is in words.
pub(crate) fn edits(state: &State, config: &Config, give: &mut dyn FnMut(State, &str)) {
    for revision in (1..=config.revisions).filter(|revision| *revision != state.revision) {
        let label = ["", "USER edits to A", "USER edits to B", "USER edits to C"][usize::from(revision)];
        give(edit_to(state, revision), label);
    }
    for replicas in (0..=config.most_replicas).filter(|replicas| *replicas != state.replicas) {
        let label = [
            "USER scales to 0",
            "USER scales to 1",
            "USER scales to 2",
            "USER scales to 3",
            "USER scales to 4",
        ];
        give(State { replicas, ..*state }, label[usize::from(replicas)]);
    }
    let with_canary = !state.with_canary;
    give(
        State { with_canary, ..*state },
        if with_canary {
            "USER switches the canary on"
        } else {
            "USER switches the canary off"
        },
    );
    let paused = !state.paused;
    give(
        State { paused, ..*state },
        if paused { "USER pauses" } else { "USER resumes" },
    );
    let suspend = !state.suspend;
    give(
        State { suspend, ..*state },
        if suspend { "USER suspends" } else { "USER ends suspend" },
    );
    if state.failed == state.revision || state.past_deadline || state.analysis == Analysis::Failed {
        let resumed = State {
            failed: 0,
            past_deadline: false,
            analysis: Analysis::Pending,
            ..*state
        };
        give(resumed, "USER annotates resume");
    }
    let gated = state.wants_canary() && state.revision != state.current;
    if state.update == state.revision && state.gate_opened_for != state.revision && gated {
        let promoted = State {
            gate_opened_for: state.revision,
            legitimate: true,
            ..*state
        };
        give(promoted, "USER annotates promote");
    }
}

/// The spec asks for another revision; analyses start afresh.
pub(crate) fn edit_to(state: &State, revision: u8) -> State {
    State {
        revision,
        analysis: Analysis::Pending,
        ..*state
    }
}
