//! What must hold before this replica may be sent requests: named needs, each met or not met for a reason.
//!
//! Must never find anything out itself: whoever knows about a need says so here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something without which a request would be answered wrongly or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// The API server knows our kinds with every field that this release has.
    Crds,
    /// All caches have seen a whole list.
    CachesSynced,
    /// The certificate we serve is valid, and the live `caBundle` of our webhook configurations trusts it.
    Certificate,
    /// The process has not been told to stop.
    Running,
}

impl Need {
    /// As `/readyz` names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::CachesSynced => "caches-synced",
            Self::Certificate => "certificate",
            Self::Running => "running",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether all needs are met. Clones share their state.
#[derive(Clone, Debug)]
pub struct Readiness {
    /// `None`: met; else why not.
    needs: Arc<Mutex<BTreeMap<Need, Option<String>>>>,
}

impl Readiness {
    /// None of `needs` is met yet. A need that is not among them is never asked for.
    #[must_use]
    pub fn new(needs: &[Need]) -> Self {
        let needs = needs.iter().map(|need| (*need, Some("not yet".to_owned())));
        Self {
            needs: Arc::new(Mutex::new(needs.collect())),
        }
    }

    /// The need is met.
    pub fn met(&self, need: Need) {
        self.set(need, None);
    }

    /// The need is not met, for `reason` (one line, no secret: anyone who reaches the port can read it).
    pub fn not_met(&self, need: Need, reason: impl Into<String>) {
        self.set(need, Some(reason.into()));
    }

    /// Every need that is not met, with the reason; empty when ready.
    #[must_use]
    pub fn unmet(&self) -> Vec<(Need, String)> {
        let needs = self.lock();
        let unmet = needs.iter().filter_map(|(need, why)| Some((*need, why.clone()?)));
        unmet.collect()
    }

    fn set(&self, need: Need, state: Option<String>) {
        let mut needs = self.lock();
        let Some(known) = needs.get_mut(&need) else { return };
        if known.is_some() != state.is_some() {
            match &state {
                None => tracing::info!("readiness: {need} is met"),
                Some(why) => tracing::info!("readiness: {need} is not met: {why}"),
            }
        }
        *known = state;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Need, Option<String>>> {
        // Each change replaces one value, so a panic elsewhere leaves a whole map behind.
        self.needs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_ready_before_every_need_is_met() {
        let readiness = Readiness::new(&[Need::CachesSynced, Need::Running]);
        readiness.met(Need::Running);
        assert_eq!(readiness.unmet(), [(Need::CachesSynced, "not yet".to_owned())]);
        readiness.met(Need::CachesSynced);
        assert_eq!(readiness.unmet(), []);
    }

    #[test]
    fn a_need_can_be_lost_again() {
        let readiness = Readiness::new(&[Need::Running]);
        readiness.met(Need::Running);
        readiness.not_met(Need::Running, "shutting down");
        assert_eq!(readiness.unmet(), [(Need::Running, "shutting down".to_owned())]);
    }

    #[test]
    fn a_need_that_was_not_declared_is_not_asked_for() {
        let readiness = Readiness::new(&[]);
        readiness.not_met(Need::Certificate, "no webhook here");
        assert_eq!(readiness.unmet(), []);
    }
}
