//! What a good end is: from which states it is owed, and how a state looks in which nothing happens any more.

use crate::config::Config;
use crate::planner::Planner;
use crate::state::{PLACES, State, is_available};
use crate::world::edit_to;

/// The states from which a good end is owed because this one can be reached: as it is, and after any one edit by which
/// the user then leaves it.
pub(super) fn seeds(state: &State, config: &Config) -> Vec<(State, &'static str)> {
    let calm = State {
        edits: 0,
        faults: 0,
        hidden: None,
        ..*state
    };
    let mut seeds = Vec::new();
    if config.works(calm.revision) && !calm.paused && !calm.suspend {
        seeds.push((calm, "L1 left alone"));
    }
    if calm.suspend {
        seeds.push((calm, "L6 suspended, left alone"));
    } else if calm.paused && calm.current != 0 && config.works(calm.current) && !config.hangs {
        // (a Pod that hangs is not replaced while paused)
        seeds.push((calm, "L6 paused, left alone"));
    }
    let moving = State {
        paused: false,
        suspend: false,
        ..calm
    };
    let failed = moving.failed == moving.revision && moving.current != 0;
    if !config.works(moving.revision) && config.rollback && failed {
        seeds.push((moving, "L4 rolled back, left alone"));
    }
    for revision in (1..=config.revisions).filter(|revision| *revision != calm.revision && config.works(*revision)) {
        let edited = edit_to(&moving, revision);
        // Where the operator never saw the edit in between, this is no new attempt.
        let unseen = edited.update == revision && edited.current != 0;
        if !(unseen && (edited.failed == revision || edited.past_deadline)) {
            seeds.push((edited, "L2 edited to a revision that works"));
        }
    }
    if config.works(calm.revision) {
        for replicas in (1..=config.most_replicas).filter(|replicas| *replicas != moving.replicas) {
            seeds.push((State { replicas, ..moving }, "L3 scaled"));
        }
        let with_canary = !moving.with_canary;
        seeds.push((State { with_canary, ..moving }, "L3 canary switched"));
    }
    seeds
}

/// Whether a state in which nothing happens any more is a good end.
pub(super) fn judge(state: &State, config: &Config, planner: &dyn Planner) -> Result<(), String> {
    if !planner.pass(state).writes.is_empty() {
        return Err("DEADLOCK writes without effect".to_owned());
    }
    if state.paused && !state.suspend {
        return healed(state).map_err(|what| format!("L6 paused, but {what}"));
    }
    if state.failed == state.revision && state.current != 0 {
        return if config.rollback {
            settled(state, state.current).map_err(|what| format!("L4 rolled back, but {what}"))
        } else {
            healed(state).map_err(|what| format!("L1 held, but {what}"))
        };
    }
    let deadline = if state.past_deadline {
        " (past the deadline)"
    } else {
        ""
    };
    settled(state, state.revision).map_err(|what| format!("DEADLOCK {what}{deadline}"))
}

/// All of this revision and available, and nothing else.
fn settled(state: &State, revision: u8) -> Result<(), &'static str> {
    for place in 0..PLACES {
        let there = state.places[place];
        match (state.is_wanted(place), there.live) {
            (true, 0) => return Err("an ordinal stays empty"),
            (true, _) if there.revision() != revision => return Err("a Pod of another revision stays"),
            (true, _) if !there.is_available() => return Err("a Pod stays unavailable"),
            (true, _) if state.is_foreign(place) => return Err("an old Pod stays"),
            (false, 1..) => return Err("a surplus Pod stays"),
            _ => {}
        }
        if there.failed > 0 || there.terminating > 0 {
            return Err("a dead Pod stays");
        }
    }
    if state.second.is_some() {
        return Err("a duplicate stays");
    }
    if state.legacy.is_there || state.legacy.terminating > 0 {
        return Err("the legacy Deployment stays");
    }
    if state.wanted() > 0 && state.current != revision {
        return Err("the rollout never completes");
    }
    Ok(())
}

/// Every wanted ordinal is there and available, of whatever revision.
fn healed(state: &State) -> Result<(), &'static str> {
    for place in 0..PLACES {
        let there = state.places[place];
        let serves = there.is_available() || is_available(state.second_of(place));
        if state.is_wanted(place) && !serves {
            return Err("an ordinal is not healed");
        }
        if state.wanted() == 0 && there.live > 0 {
            return Err("it is not drained");
        }
    }
    Ok(())
}
