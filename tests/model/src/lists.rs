//! Which configurations are explored: a few in every run of the tests, many more as `make soak ONLY=model`.

use crate::config::{Config, Start};
use crate::planted::Defect;

const RUNNING: Config = Config::running(3);

/// Explored in every run of the tests: each start, both policies, both ways to answer failure.
pub(crate) fn short() -> Vec<Config> {
    let small = Config {
        edits: 1,
        faults: 1,
        most_replicas: 2,
        replicas: 2,
        limit: 12_000,
        ..RUNNING
    };
    vec![
        Config { edits: 2, ..small },
        Config {
            strict: true,
            rollback: true,
            ..small
        },
        Config {
            replicas: 1,
            analysis: true,
            ..small
        },
        Config {
            start: Start::Empty,
            ..small
        },
        Config {
            start: Start::Predecessor,
            ..small
        },
        Config {
            start: Start::Duplicates,
            edits: 0,
            ..small
        },
        Config {
            start: Start::Restart,
            ..small
        },
        Config {
            start: Start::Legacy,
            ..small
        },
        Config {
            start: Start::Legacy,
            replicas: 1,
            ..small
        },
        Config {
            start: Start::Legacy,
            strict: true,
            rollback: true,
            replicas: 3,
            most_replicas: 3,
            max_unavailable: 2,
            ..small
        },
        Config {
            start: Start::BrokenLegacy,
            ..small
        },
        Config {
            start: Start::RollingLegacy,
            ..small
        },
        Config {
            start: Start::RollingLegacy,
            replicas: 1,
            ..small
        },
        Config {
            stale: true,
            edits: 1,
            faults: 0,
            most_replicas: 3,
            ..small
        },
    ]
}

/// All that is explored when there is time.
pub(crate) fn long() -> Vec<Config> {
    let mut all = Vec::new();
    for start in [
        Start::Running,
        Start::Empty,
        Start::Predecessor,
        Start::Duplicates,
        Start::Restart,
        Start::Legacy,
        Start::BrokenLegacy,
        Start::RollingLegacy,
    ] {
        for strict in [false, true] {
            for rollback in [false, true] {
                let edits = if start == Start::Duplicates { 1 } else { 2 };
                all.push(Config {
                    start,
                    strict,
                    rollback,
                    edits,
                    ..RUNNING
                });
            }
        }
    }
    all.extend(others());
    all.extend(takeovers());
    all
}

/// What the product of start, policy and answer to failure leaves out.
fn others() -> Vec<Config> {
    vec![
        Config { replicas: 0, ..RUNNING },
        Config {
            replicas: 1,
            most_replicas: 2,
            edits: 3,
            faults: 2,
            ..RUNNING
        },
        Config {
            replicas: 1,
            most_replicas: 1,
            edits: 15,
            faults: 15,
            ..RUNNING
        },
        Config {
            replicas: 1,
            most_replicas: 2,
            edits: 3,
            faults: 2,
            rollback: true,
            analysis: true,
            ..RUNNING
        },
        Config {
            analysis: true,
            ..RUNNING
        },
        Config {
            analysis: true,
            hangs: true,
            ..RUNNING
        },
        Config {
            hangs: true,
            rollback: true,
            faults: 2,
            ..RUNNING
        },
        Config {
            hangs: true,
            replicas: 1,
            most_replicas: 2,
            edits: 3,
            faults: 2,
            ..RUNNING
        },
        Config {
            analysis: true,
            rollback: true,
            strict: true,
            ..RUNNING
        },
        Config {
            max_unavailable: 2,
            faults: 2,
            ..RUNNING
        },
        Config {
            max_unavailable: 3,
            replicas: 2,
            edits: 3,
            ..RUNNING
        },
        Config { stale: true, ..RUNNING },
        Config {
            stale: true,
            strict: true,
            rollback: true,
            ..RUNNING
        },
        Config {
            works: 0b1110,
            faults: 2,
            ..RUNNING
        },
        Config {
            start: Start::Duplicates,
            works: 0b1110,
            edits: 1,
            ..RUNNING
        },
        Config {
            works: 0b0010,
            faults: 2,
            rollback: true,
            ..RUNNING
        },
    ]
}

/// The same of the start from a legacy Deployment.
fn takeovers() -> Vec<Config> {
    vec![
        Config {
            start: Start::Legacy,
            replicas: 1,
            most_replicas: 1,
            edits: 15,
            faults: 15,
            ..RUNNING
        },
        Config {
            start: Start::Legacy,
            replicas: 2,
            max_unavailable: 3,
            faults: 2,
            ..RUNNING
        },
        // Four: the least of which the Deployment controller lets one be away and another one be there.
        Config {
            start: Start::RollingLegacy,
            replicas: 4,
            most_replicas: 4,
            ..RUNNING
        },
    ]
}

/// A configuration in which a defect shows.
pub(crate) const fn that_shows(defect: Defect) -> Config {
    let large = Config {
        limit: 20_000,
        ..RUNNING
    };
    let small = Config {
        replicas: 2,
        most_replicas: 2,
        ..large
    };
    match defect {
        Defect::PredecessorsAtOnce => Config {
            start: Start::Predecessor,
            edits: 1,
            ..large
        },
        Defect::LegacyNeverFree => Config {
            start: Start::BrokenLegacy,
            edits: 1,
            ..small
        },
        Defect::NoLegacyHandOver => Config {
            start: Start::Legacy,
            replicas: 1,
            edits: 1,
            ..small
        },
        Defect::LegacyAtOnce | Defect::LegacyWhilePaused => Config {
            start: Start::Legacy,
            edits: 1,
            ..small
        },
        Defect::LegacyUpdateIgnored => Config {
            start: Start::RollingLegacy,
            edits: 1,
            ..small
        },
        Defect::NothingIsCleared | Defect::CurrentFails => Config {
            rollback: true,
            analysis: true,
            ..small
        },
        Defect::FailedStay => Config {
            analysis: true,
            hangs: true,
            ..small
        },
        Defect::AllUnavailable => Config {
            max_unavailable: 2,
            ..small
        },
        Defect::FailedComeBack => Config {
            max_unavailable: 2,
            faults: 0,
            limit: 100_000,
            ..large
        },
        Defect::CanaryAlwaysUpdated => Config {
            replicas: 1,
            most_replicas: 2,
            faults: 2,
            ..large
        },
        Defect::NoHandOver | Defect::OldPodForgotten | Defect::SuccessorForgotten => Config { replicas: 1, ..small },
        Defect::CanaryBelowTheFloor | Defect::GateOpensForGood | Defect::KeepsTheFailedOne => large,
        _ => small,
    }
}
