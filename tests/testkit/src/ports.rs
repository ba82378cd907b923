//! Free ports of the loopback address.
//!
//! A port is free only until someone else takes it: whoever starts a server on one must be ready to try another.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

/// More attempts than a machine has servers that start at one moment.
const ATTEMPTS: usize = 100;

/// A TCP port of 127.0.0.1 that nobody listens on now, and that this process has not been given before.
///
/// # Errors
/// When the kernel has none.
pub fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    for _ in 0..ATTEMPTS {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
        let port = listener.local_addr()?.port();
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return Ok(port);
        }
    }
    bail!("no port of 127.0.0.1 that was not given before in {ATTEMPTS} attempts")
}
