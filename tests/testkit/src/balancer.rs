//! A TCP balancer before several replicas of the operator, as a Service is: it sends connections only to those that were
//! ready some time ago.
//!
//! A cluster learns of readiness late. So does this: what counts is the answer of `/readyz` a second ago, not now; a
//! replica that is shutting down still gets connections for that long, and one that has died too. Each connection goes
//! to the next of them in turn. Runs on a thread of its own.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::background::Background;
use crate::http;
use crate::operator::Operator;

/// How old the readiness is that counts: about what a probe, the endpoints controller and kube-proxy take together in a
/// cluster that is quick.
pub const LAG: Duration = Duration::from_secs(1);

/// Between two looks at a replica.
const PROBE: Duration = Duration::from_millis(50);

/// The balancer; ends when dropped.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    replicas: Arc<Replicas>,
    _thread: Background,
}

#[derive(Debug, Default)]
struct Replicas {
    all: Mutex<BTreeMap<String, Replica>>,
    next: Mutex<usize>,
}

#[derive(Debug)]
struct Replica {
    webhook_port: u16,
    readyz: String,
    /// What was seen when, oldest first; the first entry is the newest one that is older than the lag.
    seen: VecDeque<(Instant, bool)>,
    connections: u64,
}

impl Balancer {
    /// A balancer without replicas: it closes every connection.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let replicas = Arc::new(Replicas::default());
        let served = Arc::clone(&replicas);
        let thread = Background::start("balancer", async move {
            tokio::try_join!(accept(listener, &served), probe(&served))?;
            Ok(())
        })?;
        Ok(Self {
            address,
            replicas,
            _thread: thread,
        })
    }

    /// Its port, for the webhook configurations.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Sends connections to an operator too, once it has been ready for [`LAG`]. A name that is there already is
    /// replaced.
    pub fn add(&self, name: &str, operator: &Operator) {
        self.add_ports(name, operator.webhook_port(), operator.http_port());
    }

    /// As [`Balancer::add`], for a server whose `/readyz` is on `http_port`.
    pub fn add_ports(&self, name: &str, webhook_port: u16, http_port: u16) {
        let readyz = format!("http://127.0.0.1:{http_port}/readyz");
        let replica = Replica {
            webhook_port,
            readyz,
            seen: VecDeque::new(),
            connections: 0,
        };
        self.replicas.all().insert(name.to_owned(), replica);
    }

    /// Sends no new connections there. Those that exist stay.
    pub fn remove(&self, name: &str) {
        self.replicas.all().remove(name);
    }

    /// The names of those that get connections now.
    #[must_use]
    pub fn receivers(&self) -> Vec<String> {
        self.replicas.receivers().into_iter().map(|(name, _)| name).collect()
    }

    /// How many connections a replica has got.
    #[must_use]
    pub fn connections(&self, name: &str) -> u64 {
        self.replicas.all().get(name).map_or(0, |replica| replica.connections)
    }
}

impl Replicas {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Replica>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that were ready [`LAG`] ago, with their ports.
    fn receivers(&self) -> Vec<(String, u16)> {
        let then = Instant::now().checked_sub(LAG);
        let all = self.all();
        let was_ready = |replica: &Replica| {
            let before = replica
                .seen
                .iter()
                .rev()
                .find(|(when, _)| then.is_some_and(|then| *when <= then));
            before.is_some_and(|(_, ready)| *ready)
        };
        all.iter()
            .filter(|(_, replica)| was_ready(replica))
            .map(|(name, replica)| (name.clone(), replica.webhook_port))
            .collect()
    }

    /// The port of the one whose turn it is.
    fn choose(&self) -> Option<u16> {
        let receivers = self.receivers();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = next.wrapping_add(1);
        let (name, port) = receivers.get(next.checked_rem(receivers.len())?)?;
        if let Some(replica) = self.all().get_mut(name) {
            replica.connections += 1;
        }
        Some(*port)
    }

    fn note(&self, name: &str, readyz: &str, ready: bool) {
        let now = Instant::now();
        let mut all = self.all();
        // It may have been removed, or replaced by another, while it was asked.
        let Some(replica) = all.get_mut(name).filter(|replica| replica.readyz == readyz) else {
            return;
        };
        replica.seen.push_back((now, ready));
        while replica
            .seen
            .get(1)
            .is_some_and(|(when, _)| now.duration_since(*when) >= LAG)
        {
            replica.seen.pop_front();
        }
    }
}

async fn accept(listener: std::net::TcpListener, replicas: &Replicas) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (mut client, _) = listener.accept().await?;
        // Nobody ready: the connection is closed, as one to a Service without endpoints is refused.
        let Some(port) = replicas.choose() else { continue };
        tokio::spawn(async move {
            if let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                // Either side may hang up at any time.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

/// Asks all replicas again and again. One that does not answer holds up no other.
async fn probe(replicas: &Arc<Replicas>) -> Result<()> {
    let mut ticks = tokio::time::interval(PROBE);
    loop {
        ticks.tick().await;
        let asked: Vec<(String, String)> = replicas
            .all()
            .iter()
            .map(|(name, replica)| (name.clone(), replica.readyz.clone()))
            .collect();
        for (name, readyz) in asked {
            let replicas = Arc::clone(replicas);
            tokio::spawn(async move {
                let ready = http::get(&readyz).await.is_ok_and(|(code, _)| code == 200);
                replicas.note(&name, &readyz, ready);
            });
        }
    }
}
