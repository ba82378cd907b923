//! How many requests are in hand. Must never make a request wait before it is counted: who finds no place is told so at
//! once.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::WorkLimits;

/// Places for requests in hand, and fewer slots for those being judged.
#[derive(Clone, Debug)]
pub struct Gate {
    places: Arc<Semaphore>,
    slots: Arc<Semaphore>,
}

/// A request that is in hand; its place is free again when this is dropped.
#[derive(Debug)]
pub struct InHand {
    slots: Arc<Semaphore>,
    _place: OwnedSemaphorePermit,
}

/// There is no place: nothing of the request may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloaded;

impl Gate {
    /// A gate with `limits.at_work` slots and `limits.waiting` further places.
    #[must_use]
    pub fn new(limits: &WorkLimits) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limits.at_work + limits.waiting)),
            slots: Arc::new(Semaphore::new(limits.at_work)),
        }
    }

    /// Takes a request in hand, or says at once that there is no place.
    pub fn enter(&self) -> Result<InHand, Overloaded> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Overloaded)?;
        Ok(InHand {
            slots: Arc::clone(&self.slots),
            _place: place,
        })
    }
}

impl InHand {
    /// Waits for a slot, which is free again when the result is dropped. To be asked for when the body is there: a slow
    /// client must hold a place, never a slot.
    pub async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
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
    use super::*;

    #[tokio::test]
    async fn places_are_counted_and_given_back() {
        let limits = WorkLimits {
            at_work: 1,
            waiting: 1,
            ..WorkLimits::default()
        };
        let gate = Gate::new(&limits);
        let first = gate.enter().expect("a place");
        let _second = gate.enter().expect("a place to wait");
        assert_eq!(gate.enter().err(), Some(Overloaded));
        drop(first);
        assert!(gate.enter().is_ok());
    }

    #[tokio::test]
    async fn a_request_without_a_slot_waits_until_one_is_free() {
        let limits = WorkLimits {
            at_work: 1,
            waiting: 1,
            ..WorkLimits::default()
        };
        let gate = Gate::new(&limits);
        let (first, second) = (gate.enter().expect("a place"), gate.enter().expect("a place"));
        let slot = first.slot().await.expect("a slot");
        let mut waiting = std::pin::pin!(second.slot());
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(slot);
        assert!(waiting.await.is_some());
    }
}
