//! Which request is hit, and by what.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::RequestInfo;
use crate::children::Running;

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The API server gets it and does it; then this process is ended by SIGKILL and the answer is lost.
    PassThenKill(Running),
    /// The API server never sees it; the connection is closed.
    Drop,
    /// The API server gets it and does it; the connection is closed instead of an answer.
    LoseAnswer,
    /// The API server never sees it; all connections are cut, as by [`super::Proxy::cut`], until that is taken back.
    CutAll,
    /// The API server never sees it; the client gets a `Status` of this HTTP code, reason and message.
    Answer {
        /// The HTTP code.
        code: u16,
        /// As of Kubernetes: `Forbidden`, `TooManyRequests`, `InternalError`, …
        reason: String,
        /// For people.
        message: String,
    },
    /// It passes so much later.
    Delay(Duration),
}

impl Fault {
    /// An answer of the API server that was not its own.
    #[must_use]
    pub fn answer(code: u16, reason: &str, message: &str) -> Self {
        Self::Answer {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }
}

/// Which requests a rule is about: those that fulfil everything that is set. The first of them is hit, unless
/// [`Match::nth`] or [`Match::times`] say otherwise.
#[derive(Clone, Debug)]
pub struct Match {
    verb: Option<String>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    only_writes: bool,
    skip: u64,
    times: u64,
}

impl Match {
    /// Any request.
    #[must_use]
    pub fn any() -> Self {
        Self {
            verb: None,
            resource: None,
            namespace: None,
            name: None,
            only_writes: false,
            skip: 0,
            times: 1,
        }
    }

    /// Any write; a dry run or a review is none.
    #[must_use]
    pub fn writes() -> Self {
        Self {
            only_writes: true,
            ..Self::any()
        }
    }

    /// A verb and a resource, as `("create", "pods")` or `("update", "streamingpipelines/status")`.
    #[must_use]
    pub fn of(verb: &str, resource: &str) -> Self {
        Self {
            verb: Some(verb.to_owned()),
            ..Self::any()
        }
        .resource(resource)
    }

    /// Only of this resource.
    #[must_use]
    pub fn resource(self, resource: &str) -> Self {
        Self {
            resource: Some(resource.to_owned()),
            ..self
        }
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// Only of the object of this name. A create has no name in its path.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..self
        }
    }

    /// The `nth` request that matches, counted from 1, instead of the first.
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        Self {
            skip: nth.saturating_sub(1),
            ..self
        }
    }

    /// So many requests from there on instead of one.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Self { times, ..self }
    }

    /// All requests from there on.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(u64::MAX)
    }

    fn fits(&self, request: &RequestInfo) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        (!self.only_writes || request.is_write())
            && same(&self.verb, &request.verb)
            && same(&self.resource, &request.full_resource())
            && same(&self.namespace, &request.namespace)
            && same(&self.name, &request.name)
    }
}

/// A rule as the test holds it.
#[derive(Clone, Debug)]
pub struct Rule {
    acted: Arc<AtomicU64>,
}

impl Rule {
    /// How many requests it has hit.
    #[must_use]
    pub fn acted(&self) -> u64 {
        self.acted.load(Ordering::SeqCst)
    }
}

/// A rule as the proxy holds it.
#[derive(Debug)]
pub(super) struct Counted {
    which: Match,
    fault: Fault,
    seen: u64,
    acted: Arc<AtomicU64>,
}

/// A new rule, for the test and for the proxy.
pub(super) fn counted(which: Match, fault: Fault) -> (Rule, Counted) {
    let acted = Arc::new(AtomicU64::new(0));
    (
        Rule {
            acted: Arc::clone(&acted),
        },
        Counted {
            which,
            fault,
            seen: 0,
            acted,
        },
    )
}

impl Counted {
    /// Counts a request; the fault when it is this one's turn.
    pub(super) fn count(&mut self, request: &RequestInfo) -> Option<Fault> {
        if !self.which.fits(request) {
            return None;
        }
        self.seen += 1;
        let turn = self.seen > self.which.skip && self.seen - self.which.skip <= self.which.times;
        turn.then(|| {
            self.acted.fetch_add(1, Ordering::SeqCst);
            self.fault.clone()
        })
    }
}
