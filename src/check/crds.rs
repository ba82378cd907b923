//! The CRDs: there, served, and with every field of this release. Must never judge them otherwise than the operator does at
//! its start.

use super::{Finding, State, Subject};
use crate::operator::crds::{self, State as Crd};

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    let found = match crds::look(subject.client).await {
        Ok(found) => found,
        Err(error) => return vec![Finding::unasked("crds", "get customresourcedefinitions", &error)],
    };
    let findings = found.into_iter().map(|(name, state)| match state.fault(&name) {
        None => Finding::ok("crds", format!("{name} has every field of this release")),
        Some(fault) => {
            let state = match state {
                Crd::Unreadable(_) => State::Unknown,
                _ => State::Wrong,
            };
            Finding::told("crds", state, fault.what, fault.todo)
        }
    });
    findings.collect()
}
