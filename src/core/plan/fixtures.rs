//! Builders for the tests of the planner.

use jiff::SignedDuration;

use crate::api::{OnFailure, PodReplacementPolicy};
use crate::core::names::{BaseName, Revision};

use super::wanted::Wanted;

/// The revision of ten times this hex digit.
pub(crate) fn revision(digit: char) -> Revision {
    Revision::parse(&digit.to_string().repeat(10)).expect("a hex digit")
}

/// A pipeline that wants this many Pods of revision a: base names `svc` and `svc-canary`, maxUnavailable 1.
pub(crate) fn wanted(replicas: u16) -> WantedBuilder {
    WantedBuilder(Wanted {
        revision: Some(revision('a')),
        config_map: Some("svc-a".to_owned()),
        primary: BaseName::parse("svc").expect("a base name"),
        canary: BaseName::parse("svc-canary"),
        replicas,
        with_canary: false,
        suspend: false,
        paused: false,
        max_unavailable: 1,
        min_ready: SignedDuration::ZERO,
        progress_deadline: SignedDuration::from_secs(600),
        policy: PodReplacementPolicy::TerminatingOrFailed,
        restart_at: None,
        require_analysis: false,
        on_failure: OnFailure::Pause,
        history_limit: 10,
    })
}

pub(crate) struct WantedBuilder(Wanted);

impl WantedBuilder {
    pub(crate) fn build(self) -> Wanted {
        self.0
    }
    pub(crate) fn revision(mut self, digit: char) -> Self {
        self.0.revision = Some(revision(digit));
        self.0.config_map = Some(format!("svc-{digit}"));
        self
    }
    pub(crate) fn max_unavailable(mut self, number: u16) -> Self {
        self.0.max_unavailable = number;
        self
    }
    pub(crate) fn policy(mut self, policy: PodReplacementPolicy) -> Self {
        self.0.policy = policy;
        self
    }
    pub(crate) fn suspend(mut self) -> Self {
        self.0.suspend = true;
        self
    }
    pub(crate) fn canary(mut self) -> Self {
        self.0.with_canary = true;
        self
    }
}
