//! SIGTERM and SIGINT. Must never lose the second one.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What tells the process to stop.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on both signals come here, and end the process no more by themselves.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one; gives its name.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
