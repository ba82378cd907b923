//! Waiting for a condition: polls until it holds or a deadline has passed, and then says what was seen last.
//!
//! Tests never sleep for a time in which something "should" have happened.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Between two looks. Reads of a loopback API server take about a millisecond.
const POLL: Duration = Duration::from_millis(50);

/// What tests give a condition unless they know better: far beyond what it takes on a slow machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// What a look found.
#[derive(Debug)]
pub enum Seen<T> {
    /// The condition holds, and this is what was wanted.
    Yes(T),
    /// Not yet; the text is what the error says when the deadline passes.
    NotYet(String),
}

impl<T> Seen<T> {
    /// `Yes(value)` when `holds`, else what the value looks like.
    pub fn when(value: T, holds: impl FnOnce(&T) -> bool) -> Self
    where
        T: Debug,
    {
        if holds(&value) {
            Self::Yes(value)
        } else {
            Self::NotYet(format!("{value:#?}"))
        }
    }
}

/// Looks until the condition holds. An error of a look counts as "not yet": servers come up and objects come to be.
///
/// # Errors
/// When it does not hold within `deadline`: names `what`, and has what was seen last.
pub async fn until<T, F, L>(what: &str, deadline: Duration, mut look: L) -> Result<T>
where
    F: Future<Output = Result<Seen<T>>>,
    L: FnMut() -> F,
{
    let started = Instant::now();
    loop {
        // One look must not outlast the deadline by much, or a hanging server hangs the test.
        let left = deadline.saturating_sub(started.elapsed()).max(POLL);
        let last = match tokio::time::timeout(left, look()).await {
            Ok(Ok(Seen::Yes(value))) => return Ok(value),
            Ok(Ok(Seen::NotYet(text))) => text,
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => format!("no answer for {left:?}"),
        };
        if started.elapsed() >= deadline {
            bail!("{what}: not within {deadline:?}; last seen: {last}");
        }
        tokio::time::sleep(POLL).await;
    }
}
