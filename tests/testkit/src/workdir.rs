//! Temporary folders that are gone when the process is, however it ended.
//!
//! One folder a process holds all others. A small shell process waits for the end of a pipe that only this process
//! holds, and then removes it: neither a panic nor a SIGKILL leaves anything behind. Set `TESTKIT_KEEP` to keep it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// Waits for the pipe's end, then removes the folder. Servers that are being killed may write while it is removed,
/// hence the tries: 100 of them, 0.1 s apart.
const JANITOR: &str =
    r#"cat; i=0; while [ -e "$0" ] && [ $i -lt 100 ]; do rm -rf "$0" && break; i=$((i+1)); sleep 0.1; done"#;

struct Root {
    path: PathBuf,
    /// Holds the pipe.
    _janitor: Option<Child>,
}

/// A new empty folder whose name begins with `name`.
///
/// # Errors
/// When the folder cannot be made or the process that will remove it cannot be started.
pub fn workdir(name: &str) -> Result<PathBuf> {
    let folder = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .tempdir_in(root()?)?;
    Ok(folder.keep())
}

/// The folder that holds all folders of this process.
///
/// # Errors
/// As [`workdir`].
pub fn root() -> Result<&'static Path> {
    static ROOT: OnceLock<std::result::Result<Root, String>> = OnceLock::new();
    ROOT.get_or_init(|| start().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map(|root| root.path.as_path())
        .map_err(|error| anyhow::anyhow!("{error}"))
}

fn start() -> Result<Root> {
    let path = tempfile::Builder::new().prefix("streaming-operator-").tempdir()?.keep();
    if std::env::var_os("TESTKIT_KEEP").is_some() {
        return Ok(Root { path, _janitor: None });
    }
    // Not through `children`: it must outlive us.
    let janitor = Command::new("sh")
        .args(["-c", JANITOR])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("cannot start sh")?;
    Ok(Root {
        path,
        _janitor: Some(janitor),
    })
}
