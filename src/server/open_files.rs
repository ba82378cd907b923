//! How many files the process may have open, and so how many connections it can hold. Must never leave a server that
//! cannot accept: it would neither serve nor say so.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::limits::Limits;

/// Files that are no connections of the webhook: those of the probes, of the API server's clients, listeners, the log.
const RESERVED: u64 = 512;
/// With fewer connections than this a few clients could keep out the API servers, each of which holds up to 25.
const CONNECTIONS_MIN: u64 = 256;

/// The process may open too few files to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process may have {files} files open, and admission needs at least {}: raise the hard limit of open files (ulimit \
     -Hn; LimitNOFILE of the container runtime)",
    RESERVED + CONNECTIONS_MIN
)]
pub struct TooFew {
    files: u64,
}

/// Raises the soft limit of open files to the hard one, which needs no right, and gives it; `None`: there is no limit.
///
/// Fails when the kernel refuses; the limit is then as it was.
pub fn raise_limit() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, raised)?;
    }
    Ok(limit.maximum)
}

impl Limits {
    /// These limits, with no more connections than `files` open files leave room for (`None`: any number).
    ///
    /// Fails when that is too few to serve.
    pub fn within(self, files: Option<u64>) -> Result<Self, TooFew> {
        let Some(files) = files else {
            return Ok(self);
        };
        let room = files.saturating_sub(RESERVED);
        if room < CONNECTIONS_MIN {
            return Err(TooFew { files });
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        Ok(Self {
            connections: self.connections.min(room),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn connections(files: Option<u64>) -> Result<usize, TooFew> {
        let limits = Limits::webhook(Duration::ZERO).within(files);
        limits.map(|limits| limits.connections)
    }

    #[test]
    fn connections_are_bounded_by_what_the_process_may_open() {
        assert_eq!(connections(None), Ok(12_000));
        assert_eq!(connections(Some(1_048_576)), Ok(12_000));
        assert_eq!(connections(Some(12_512)), Ok(12_000));
        assert_eq!(connections(Some(4096)), Ok(3584));
        assert_eq!(connections(Some(768)), Ok(256));
    }

    #[test]
    fn with_too_few_files_it_is_said_what_to_do() {
        let fault = connections(Some(767)).expect_err("too few");
        assert_eq!(
            fault.to_string(),
            "the process may have 767 files open, and admission needs at least 768: raise the hard limit of open files \
             (ulimit -Hn; LimitNOFILE of the container runtime)"
        );
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let limit = raise_limit().expect("the kernel grants it");
        assert_eq!(getrlimit(Resource::Nofile).current, limit);
    }
}
