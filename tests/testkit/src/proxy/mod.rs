//! A proxy between the operator and the API server that fails on purpose: at a given request, in a given way.
//!
//! The operator's kubeconfig points to [`Proxy::url`] (plain HTTP on loopback); the user's token passes through. Bodies
//! of watches stream. It speaks HTTP/1.1, so that one request is one thing on a connection and a hang-up hits no other.
//!
//! It runs on a thread of its own: a test that blocks does not stop it.

mod connection;
mod request;
mod rules;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::sync::watch;

pub use request::RequestInfo;
pub use rules::{Fault, Match, Rule};

use crate::background::Background;
use crate::control_plane::ControlPlane;
use crate::wait::{self, Seen};

/// The proxy; ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _thread: Background,
}

/// What the connections and the test have in common.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Whether nothing passes. A change to `true` ends all connections.
    cut: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<rules::Counted>,
    counts: BTreeMap<(String, String), u64>,
    requests: Vec<RequestInfo>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request and finds what shall happen to it.
    fn judge(&self, request: &RequestInfo) -> Option<Fault> {
        let mut state = self.state();
        *state
            .counts
            .entry((request.verb.clone(), request.full_resource()))
            .or_default() += 1;
        state.requests.push(request.clone());
        // Every rule counts every request of its own; the first whose turn it is acts.
        let mut fault = None;
        for rule in &mut state.rules {
            let turn = rule.count(request);
            fault = fault.or(turn);
        }
        fault
    }
}

impl Proxy {
    /// A proxy before a control plane. Lets everything pass until it is told otherwise.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(cluster: &ControlPlane) -> Result<Self> {
        let upstream = connection::Upstream::new(cluster.url(), &cluster.ca_file())?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            cut: watch::Sender::new(false),
        });
        let served = Arc::clone(&shared);
        let thread = Background::start(
            "proxy",
            async move { connection::serve(listener, upstream, served).await },
        )?;
        Ok(Self {
            address,
            shared,
            _thread: thread,
        })
    }

    /// What a kubeconfig names as its server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on does `fault` to requests that match, as [`Match`] says which. Counting begins now.
    #[expect(
        clippy::must_use_candidate,
        reason = "a rule works whether or not the test asks what it did"
    )]
    pub fn on(&self, which: Match, fault: Fault) -> Rule {
        let (rule, counted) = rules::counted(which, fault);
        self.shared.state().rules.push(counted);
        rule
    }

    /// Takes all rules back. What they have begun stays: a cut lasts until [`Proxy::restore`].
    pub fn clear(&self) {
        self.shared.state().rules.clear();
    }

    /// Ends all connections, watches too, and takes no new ones until [`Proxy::restore`]: a client sees connections that
    /// are accepted and closed at once.
    pub fn cut(&self) {
        self.shared.cut.send_replace(true);
    }

    /// Ends a cut.
    pub fn restore(&self) {
        self.shared.cut.send_replace(false);
    }

    /// How many requests there were, by verb and resource (`pods`, `streamingpipelines/status`). What a fault has hit is
    /// counted too.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<(String, String), u64> {
        self.shared.state().counts.clone()
    }

    /// How many requests of one verb and resource there were.
    #[must_use]
    pub fn count(&self, verb: &str, resource: &str) -> u64 {
        self.shared
            .state()
            .counts
            .get(&(verb.to_owned(), resource.to_owned()))
            .copied()
            .unwrap_or(0)
    }

    /// All requests in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestInfo> {
        self.shared.state().requests.clone()
    }

    /// How many writes there were; dry runs and reviews are none.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.shared
            .state()
            .requests
            .iter()
            .filter(|request| request.is_write())
            .count()
    }
}

impl Rule {
    /// Waits until the rule has acted.
    ///
    /// # Errors
    /// When it has not within `deadline`.
    pub async fn fired(&self, deadline: Duration) -> Result<()> {
        let acted = wait::until("a fault of the proxy", deadline, async || {
            Ok(Seen::when(self.acted(), |acted| *acted > 0))
        });
        ensure!(acted.await? > 0);
        Ok(())
    }
}
