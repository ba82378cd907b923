//! What a planner is to the model: from a state as it is seen to the writes of one pass.
//!
//! Two stand behind it: the product's own ([`crate::adapter`]) and the rules as they read ([`crate::rules`]).

use crate::state::{State, letter, place_name};

/// One write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Write {
    /// The status.
    Status,
    /// Whether the API server would take the first Pod of a revision; it always would.
    DryRun(u8),
    /// A live Pod; of two the later one where that is said.
    Delete { place: usize, second: bool },
    /// A Pod that failed.
    RemoveFailed(usize),
    /// A Pod of a revision at a place without a live Pod.
    Create(usize, u8),
    /// A second live Pod beside the one that is there.
    Beside(usize, u8),
    /// A Deployment of the Python operator gets this number.
    Scale(u8),
    /// That Deployment gets the template back whose Pods serve.
    SetBack,
    /// That Deployment goes.
    DeleteLegacy,
    /// The mark on a ControllerRevision that its revision completed.
    Mark(u8),
}

impl Write {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Status => "write the status".to_owned(),
            Self::DryRun(revision) => format!("dry run of {}", letter(revision)),
            Self::Delete { place, second: false } => format!("delete {}", place_name(place)),
            Self::Delete { place, second: true } => format!("delete the later {}", place_name(place)),
            Self::RemoveFailed(place) => format!("remove failed {}", place_name(place)),
            Self::Create(place, revision) => format!("create {}={}", place_name(place), letter(revision)),
            Self::Beside(place, revision) => format!("create {}={} beside it", place_name(place), letter(revision)),
            Self::Scale(to) => format!("scale the legacy Deployment to {to}"),
            Self::SetBack => "set the legacy Deployment back".to_owned(),
            Self::DeleteLegacy => "delete the legacy Deployment".to_owned(),
            Self::Mark(revision) => format!("mark {} completed", letter(revision)),
        }
    }
}

/// What a pass decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pass {
    /// The writes, in order.
    pub(crate) writes: Vec<Write>,
    /// The state with the status that the pass writes.
    pub(crate) status: State,
    /// Whether the clock of the deadline runs, so that it can pass.
    pub(crate) deadline_runs: bool,
    /// Whether the 300 s without an available primary are counted, so that they can pass.
    pub(crate) counts_300s: bool,
}

/// From a state as it is seen to the writes of one pass.
pub(crate) trait Planner {
    fn pass(&self, seen: &State) -> Pass;
}
