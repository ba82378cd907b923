//! The numbers that bound a server, each with its reason. Must never hold a limit that is not enforced.

use std::time::Duration;

/// Most bytes that are read ahead on a connection, and so the longest header. That of an API server is under 1 KiB, and
/// times the number of connections this bounds our memory.
pub(super) const READ_AHEAD_MAX_BYTES: usize = 64 * 1024;

/// What bounds the connections of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once.
    pub connections: usize,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long a client may take to send the header of its first request.
    pub first_header: Duration,
    /// How long a connection may then be without a request.
    pub idle: Duration,
    /// How long, once told to stop, connections are still accepted while clients learn that we leave.
    pub shutdown_delay: Duration,
    /// How long requests may then still take.
    pub drain: Duration,
}

impl Limits {
    /// The webhook's.
    ///
    /// 12,000 connections: some 30 KiB each, and an API server keeps at most 25 idle ones. Handshake and first header:
    /// the API server gives up after 5 s, so whoever takes longer is none. Idle: the API server keeps idle connections
    /// for 90 s, and a request sent onto one that we just closed is lost.
    #[must_use]
    pub const fn webhook(shutdown_delay: Duration) -> Self {
        Self {
            connections: 12_000,
            handshake: Duration::from_secs(5),
            first_header: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            shutdown_delay,
            drain: Duration::from_secs(10),
        }
    }

    /// Those of the port for probes and metrics.
    ///
    /// A kubelet and a few scrapers call it, so 256 connections leave room. It ends last and at once: nobody waits for
    /// it.
    #[must_use]
    pub const fn probes() -> Self {
        Self {
            connections: 256,
            handshake: Duration::from_secs(5),
            first_header: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            shutdown_delay: Duration::ZERO,
            drain: Duration::from_secs(1),
        }
    }
}

/// What bounds the requests of the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimits {
    /// Most requests being judged at once.
    pub at_work: usize,
    /// Most requests beyond those that wait, or whose body is still on its way.
    pub waiting: usize,
    /// How long a request may take from its header to its answer.
    pub deadline: Duration,
    /// How long a body may be on its way before its place goes to a request that finds none.
    pub slow_body: Duration,
    /// Longest body, in bytes.
    pub body_max_bytes: usize,
}

impl Default for WorkLimits {
    /// Judging takes well under a millisecond of one core, so 64 at work and 256 waiting are answered far within the
    /// deadline. That is 1 s below the 5 s after which the API server gives up, so that it hears our reason. A body
    /// carries two objects, each of which etcd holds to 1.5 MiB (2 MiB in transit): 8 MiB leave room for both. An API
    /// server has the whole body at hand and sends it within milliseconds: half a second is no API server's.
    fn default() -> Self {
        Self {
            at_work: 64,
            waiting: 256,
            deadline: Duration::from_secs(4),
            slow_body: Duration::from_millis(500),
            body_max_bytes: 8 * 1024 * 1024,
        }
    }
}
