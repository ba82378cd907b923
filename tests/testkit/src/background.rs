//! A server on a thread and an async runtime of its own: it goes on while a test blocks, and ends when dropped.

use std::thread::JoinHandle;

use anyhow::{Context, Result};
use tokio::sync::oneshot;

/// The thread; dropping it ends the server and all that it has spawned.
#[derive(Debug)]
pub struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Runs `server` until it ends or this is dropped. An error of it is printed: a test would otherwise only see
    /// connections that fail.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(name: &'static str, server: impl Future<Output = Result<()>> + Send + 'static) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            let end = runtime.block_on(async {
                tokio::select! {
                    end = server => end,
                    _ = stopped => Ok(()),
                }
            });
            if let Err(error) = end {
                eprintln!("{name}: {error:#}");
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .context("no thread")?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends at its next await; a panic of it was printed by itself.
            let _ = thread.join();
        }
    }
}
