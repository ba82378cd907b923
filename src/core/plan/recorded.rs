//! The facts that an earlier pass left in the status. Reading is lenient: what cannot be read is as good as absent.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::StreamingPipelineStatus;
use crate::api::status::RolloutStatus;
use crate::core::names::{Generation, Ordinal, Revision, WorkloadSet};

use super::facts::{Facts, Failed, FailedWhy, Hold, HoldBy, Phase};

/// The facts of a status.
pub(super) fn facts(status: &StreamingPipelineStatus) -> Facts {
    let none = RolloutStatus::default();
    let rollout = status.rollout.as_ref().unwrap_or(&none);
    Facts {
        update_revision: revision(status.update_revision.as_deref()),
        current_revision: revision(status.current_revision.as_deref()),
        gate_opened_for: revision(rollout.gate_opened_for.as_deref()),
        returns_to: revision(rollout.returns_to.as_deref()),
        answered_abort: revision(rollout.answered_abort.as_deref()),
        failed: failed(rollout),
        last_progress: time(rollout.last_progress_time.as_deref()),
        no_primary_since: time(rollout.no_primary_since.as_deref()),
        generations: generations(status),
        holds: holds(rollout),
        phase: Phase::ALL
            .into_iter()
            .find(|phase| phase.as_str() == rollout.phase)
            .unwrap_or_default(),
    }
}

fn revision(text: Option<&str>) -> Option<Revision> {
    text.and_then(Revision::parse)
}

fn time(text: Option<&str>) -> Option<Timestamp> {
    text.and_then(|text| text.parse().ok())
}

fn failed(rollout: &RolloutStatus) -> Option<Failed> {
    let failed = rollout.failed_revision.as_ref()?;
    Some(Failed {
        revision: Revision::parse(&failed.name)?,
        why: FailedWhy::parse(&failed.reason)?,
        at: failed.time.parse().ok()?,
    })
}

fn holds(rollout: &RolloutStatus) -> Vec<Hold> {
    let read = |hold: &crate::api::status::RolloutHold| {
        let is_this = |by: &HoldBy| {
            let (who, reason) = by.words();
            (who, reason.as_str()) == (hold.by.as_str(), hold.reason.as_str())
        };
        Some(Hold {
            by: HoldBy::ALL.into_iter().find(is_this)?,
            since: hold.since.parse().ok()?,
            message: hold.message.clone(),
        })
    };
    rollout.holds.iter().filter_map(read).collect()
}

fn generations(status: &StreamingPipelineStatus) -> BTreeMap<(WorkloadSet, Ordinal), Generation> {
    let Some(recorded) = &status.generations else {
        return BTreeMap::new();
    };
    let of = |set: WorkloadSet, entries: &BTreeMap<String, u16>| {
        let read = entries
            .iter()
            .filter_map(|(ordinal, generation)| Some(((set, Ordinal::parse(ordinal)?), Generation::new(*generation)?)));
        read.collect::<Vec<_>>()
    };
    let primary = of(WorkloadSet::Primary, &recorded.primary);
    let canary = of(WorkloadSet::Canary, &recorded.canary);
    primary.into_iter().chain(canary).collect()
}
