//! What became of the actions of a pass; the status is computed from it.

use super::decision::Action;

/// What became of the actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Each action with its result, in order.
    pub results: Vec<(Action, ActionResult)>,
}

/// What became of one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionResult {
    /// Done.
    Done,
    /// It was done already: the object exists and is ours, or is gone.
    AlreadyOurs,
    /// An object that is not ours has the name.
    NotOurs {
        /// Who has it, in words: `pipeline ns/name`, `a Pod that no pipeline owns`.
        holder: String,
    },
    /// The API server refused it.
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the Status.
        reason: String,
        /// `message` of the Status.
        message: String,
    },
    /// The API server could not be asked, or failed itself (5xx, 429, no answer).
    Unavailable {
        /// What went wrong.
        message: String,
    },
    /// An earlier action's failure forbade it, or what it was decided on had changed meanwhile: the next pass decides anew.
    Skipped,
}

impl ActionResult {
    /// Whether the world is now as the action wanted it.
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        match self {
            Self::Done | Self::AlreadyOurs => true,
            Self::NotOurs { .. } | Self::Refused { .. } | Self::Unavailable { .. } | Self::Skipped => false,
        }
    }

    /// Whether the world may now be as the action wanted it: it is, or no answer said that it is not.
    #[must_use]
    pub const fn may_be_done(&self) -> bool {
        match self {
            Self::Done | Self::AlreadyOurs | Self::Unavailable { .. } => true,
            Self::NotOurs { .. } | Self::Refused { .. } | Self::Skipped => false,
        }
    }
}

impl Outcome {
    /// The first action that failed by itself, with how.
    #[must_use]
    pub fn first_failure(&self) -> Option<(&Action, &ActionResult)> {
        self.results
            .iter()
            .find(|(_, result)| !result.succeeded() && *result != ActionResult::Skipped)
            .map(|(action, result)| (action, result))
    }
}
