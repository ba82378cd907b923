//! The kinds that are judged. Must never name one that our configurations do not ask about.

use crate::api::meta;

/// The kinds that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pipeline.
    StreamingPipeline,
    /// An analysis.
    RolloutAnalysis,
}

impl Kind {
    /// The kind of that group, version and name; `None`: none of ours.
    pub(super) fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        match (group, version, kind) {
            (meta::GROUP, meta::VERSION, meta::KIND) => Some(Self::StreamingPipeline),
            (meta::GROUP, meta::VERSION, meta::ANALYSIS_KIND) => Some(Self::RolloutAnalysis),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StreamingPipeline => meta::KIND,
            Self::RolloutAnalysis => meta::ANALYSIS_KIND,
        }
    }

    /// The resource that holds its objects.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::StreamingPipeline => meta::PLURAL,
            Self::RolloutAnalysis => meta::ANALYSIS_PLURAL,
        }
    }
}
