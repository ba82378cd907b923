//! Who is connected: a bounded number, and of those the ones that never sent a request, longest first.
//!
//! Must never close a connection that sent a request in order to make room: an API server may be about to use it again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The connections of one server.
#[derive(Debug)]
pub struct Connections {
    places: Arc<Semaphore>,
    silent: Mutex<Silent>,
}

/// Connections that have not sent a request yet. Keys grow with time, so the first is the one that is silent longest.
#[derive(Debug, Default)]
struct Silent {
    next_key: u64,
    by_age: BTreeMap<u64, CancellationToken>,
}

impl Connections {
    /// Room for `connections_max` connections.
    #[must_use]
    pub fn new(connections_max: usize) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(connections_max)),
            silent: Mutex::default(),
        })
    }

    /// A place for a new connection. When none is free, the connection that has been silent longest is told to end and
    /// its place awaited; `None` when every connection has sent a request: then the new one must go.
    pub async fn admit(self: &Arc<Self>) -> Option<Place> {
        let permit = if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            permit
        } else {
            let (_, longest) = self.silent().by_age.pop_first()?;
            longest.cancel();
            Arc::clone(&self.places).acquire_owned().await.ok()?
        };
        let evicted = CancellationToken::new();
        let mut silent = self.silent();
        let key = silent.next_key;
        silent.next_key += 1;
        silent.by_age.insert(key, evicted.clone());
        drop(silent);
        Some(Place {
            connections: Arc::clone(self),
            key,
            evicted,
            _permit: permit,
        })
    }

    fn silent(&self) -> MutexGuard<'_, Silent> {
        // Each change is one insert or remove, so a panic elsewhere leaves a whole map behind.
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection; free again when dropped.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    key: u64,
    evicted: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// The connection sent the header of a request: it no longer has to go when places run out.
    pub fn spoke(&self) {
        self.connections.silent().by_age.remove(&self.key);
    }

    /// Ends when the connection must go to make room.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.silent().by_age.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn when_places_run_out_the_connection_that_is_silent_longest_goes() {
        let connections = Connections::new(2);
        let first = connections.admit().await.expect("a place");
        let second = connections.admit().await.expect("a place");
        let evicted = tokio::spawn(async move {
            first.evicted().await;
        });
        let third = connections.admit().await.expect("the place of the first");
        evicted.await.expect("the first was told to go");
        assert!(!second.evicted.is_cancelled());
        assert!(!third.evicted.is_cancelled());
    }

    #[tokio::test]
    async fn a_connection_that_sent_a_request_stays_although_it_is_older() {
        let connections = Connections::new(2);
        let first = connections.admit().await.expect("a place");
        first.spoke();
        let second = connections.admit().await.expect("a place");
        let evicted = tokio::spawn(async move {
            second.evicted().await;
        });
        let _third = connections.admit().await.expect("the place of the second");
        evicted.await.expect("the second was told to go");
        assert!(!first.evicted.is_cancelled());
    }

    #[tokio::test]
    async fn when_all_have_sent_requests_the_new_one_gets_no_place() {
        let connections = Connections::new(1);
        let first = connections.admit().await.expect("a place");
        first.spoke();
        assert!(connections.admit().await.is_none());
        drop(first);
        assert!(connections.admit().await.is_some(), "a dropped place is free again");
    }
}
