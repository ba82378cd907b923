//! How many requests are in hand. Must never make a request wait before it is counted: who finds no place is told so at
//! once, or gets that of one whose body comes too slowly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::WorkLimits;

/// Places for requests in hand, and fewer slots for those being judged.
#[derive(Clone, Debug)]
pub struct Gate {
    places: Arc<Semaphore>,
    slots: Arc<Semaphore>,
    bodies: Arc<Bodies>,
}

/// A request that is in hand; its place is free again when this is dropped.
#[derive(Debug)]
pub struct InHand {
    slots: Arc<Semaphore>,
    bodies: Arc<Bodies>,
    _place: OwnedSemaphorePermit,
}

/// There is no place: nothing of the request may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloaded;

/// The body came so slowly that another request got the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSlow;

/// Bodies on their way. Keys grow with time, so the first is the one that has been coming longest.
#[derive(Debug)]
struct Bodies {
    slow: Duration,
    by_age: Mutex<(u64, BTreeMap<u64, Body>)>,
}

#[derive(Debug)]
struct Body {
    since: Instant,
    give_up: CancellationToken,
}

impl Bodies {
    /// Gives up the body that has been coming longest, if it is a slow one. Whether it did.
    fn give_up_slowest(&self) -> bool {
        let (_, by_age) = &mut *self.lock();
        let slowest = by_age
            .first_entry()
            .filter(|body| body.get().since.elapsed() >= self.slow);
        slowest.map(|body| body.remove().give_up.cancel()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Body>)> {
        // Each change is one insert or remove, so a panic elsewhere leaves a whole map behind.
        self.by_age.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a body off the list, also when its request is dropped.
struct OnItsWay<'a>(&'a Bodies, u64);

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.0.lock().1.remove(&self.1);
    }
}

impl Gate {
    /// A gate with `limits.at_work` slots and `limits.waiting` further places.
    #[must_use]
    pub fn new(limits: &WorkLimits) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limits.at_work + limits.waiting)),
            slots: Arc::new(Semaphore::new(limits.at_work)),
            bodies: Arc::new(Bodies {
                slow: limits.slow_body,
                by_age: Mutex::default(),
            }),
        }
    }

    /// Takes a request in hand, or says at once that there is no place. When a body comes too slowly, its place goes to
    /// the new request: slow clients, however many, must not keep others out.
    pub async fn enter(&self) -> Result<InHand, Overloaded> {
        let places = Arc::clone(&self.places);
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) if self.bodies.give_up_slowest() => places.acquire_owned().await.map_err(|_| Overloaded)?,
            Err(_) => return Err(Overloaded),
        };
        Ok(InHand {
            slots: Arc::clone(&self.slots),
            bodies: Arc::clone(&self.bodies),
            _place: place,
        })
    }
}

impl InHand {
    /// Waits for the body, unless its place is needed and it has been coming for too long.
    pub async fn receive<T>(&self, body: impl Future<Output = T>) -> Result<T, TooSlow> {
        let give_up = CancellationToken::new();
        let on_its_way = {
            let (next, by_age) = &mut *self.bodies.lock();
            let key = *next;
            *next += 1;
            let since = Instant::now();
            by_age.insert(
                key,
                Body {
                    since,
                    give_up: give_up.clone(),
                },
            );
            OnItsWay(&self.bodies, key)
        };
        let received = give_up.run_until_cancelled(body).await;
        drop(on_its_way);
        received.ok_or(TooSlow)
    }

    /// Waits for a slot, which is free again when the result is dropped. To be asked for when the body is there: a slow
    /// client must hold a place, never a slot.
    pub async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }
}

impl IntoResponse for TooSlow {
    fn into_response(self) -> Response {
        let text = "the body came too slowly, and its place was needed; try again\n";
        (StatusCode::REQUEST_TIMEOUT, text).into_response()
    }
}

impl IntoResponse for Overloaded {
    fn into_response(self) -> Response {
        let text = "too many requests at once; try again in a second\n";
        (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], text).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn gate(at_work: usize, waiting: usize) -> Gate {
        Gate::new(&WorkLimits {
            at_work,
            waiting,
            slow_body: Duration::from_millis(500),
            ..WorkLimits::default()
        })
    }

    #[tokio::test]
    async fn places_are_counted_and_given_back() {
        let gate = gate(1, 1);
        let first = gate.enter().await.expect("a place");
        let _second = gate.enter().await.expect("a place to wait");
        assert_eq!(gate.enter().await.err(), Some(Overloaded));
        drop(first);
        assert!(gate.enter().await.is_ok());
    }

    #[tokio::test]
    async fn a_request_without_a_slot_waits_until_one_is_free() {
        let gate = gate(1, 1);
        let (first, second) = (
            gate.enter().await.expect("a place"),
            gate.enter().await.expect("a place"),
        );
        let slot = first.slot().await.expect("a slot");
        let mut waiting = std::pin::pin!(second.slot());
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(slot);
        assert!(waiting.await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_place_of_the_slowest_body_goes_to_a_new_request_after_half_a_second() {
        let gate = gate(1, 1);
        let receive = async |place: InHand| place.receive(pending::<()>()).await;
        let slowest = tokio::spawn(receive(gate.enter().await.expect("a place")));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let slow = tokio::spawn(receive(gate.enter().await.expect("a place")));
        tokio::time::sleep(Duration::from_millis(399)).await;
        assert_eq!(
            gate.enter().await.err(),
            Some(Overloaded),
            "no body has been coming for long"
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
        let new = gate.enter().await.expect("the place of the slowest");
        assert_eq!(slowest.await.expect("it ends"), Err(TooSlow));
        assert!(!slow.is_finished());
        assert_eq!(new.receive(ready(7)).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_whose_body_is_there_keeps_its_place() {
        let gate = gate(1, 0);
        let place = gate.enter().await.expect("a place");
        assert_eq!(place.receive(ready(7)).await, Ok(7));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(gate.enter().await.err(), Some(Overloaded));
    }
}
