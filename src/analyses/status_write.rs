//! Writes the status of an analysis: the whole of it, by PUT with the resourceVersion of the copy it was computed from.
//! Must never write over what it has not read.

use std::sync::Arc;

use super::context::AnalysisContext;
use super::pass::Visit;
use crate::controller::errors::{Class, Failure};
use crate::controller::stored_object::STATUS_ATTEMPTS_MAX;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Written.
    Yes,
    /// Nothing was due.
    Unchanged,
    /// The analysis was edited, deleted or replaced in between: another pass has to look again.
    Superseded,
}

/// Writes the status as the visit has it now. Afterwards it holds the analysis as written.
pub(super) async fn write(ctx: &AnalysisContext, visit: &mut Visit) -> Result<Written, Failure> {
    for _ in 0..STATUS_ATTEMPTS_MAX {
        let next = visit.status(&visit.stored.status, ctx.now());
        match ctx.base.replace_status(&visit.stored.metadata, &next).await {
            Ok(written) => {
                let written = Arc::new(written);
                ctx.analyses().wrote(&visit.stored, &written);
                visit.stored = written;
                return Ok(Written::Yes);
            }
            Err(failure) if failure.class() == Class::Conflict => {}
            Err(failure) if failure.class() == Class::NotFound => return Ok(Written::Superseded),
            Err(failure) => return Err(failure),
        }
        if !ctx.base.read_again(&mut visit.stored).await? {
            return Ok(Written::Superseded);
        }
    }
    Ok(Written::Superseded)
}
