//! Finds the folder that holds etcd, kube-apiserver, kubectl, kwok, helm and the rest.
//!
//! Never looks on the `PATH`: a test must not depend on what a machine happens to have.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

/// Names the folder, so that the script that builds it is not run. Meant for a machine that has it prepared.
const ASSETS_VARIABLE: &str = "STREAMING_OPERATOR_ASSETS";

/// The root of the repository. Paths in it (`chart`, `crds`, `webhook-config`) are found from here.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The path of a program or folder among the assets: `etcd`, `kube-apiserver`, `kubectl`, `kube-controller-manager`,
/// `kube-scheduler`, `kwok`, `helm`, `kwok-stages`. The first call may build all of them, which takes minutes.
///
/// # Errors
/// When the build fails (its own words are on stderr) or the asset is not there.
pub fn asset(name: &str) -> Result<PathBuf> {
    static FOLDER: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let folder = FOLDER
        .get_or_init(|| folder().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let path = folder.join(name);
    ensure!(
        path.exists(),
        "{} is missing; tests/control-plane/build.sh makes it",
        path.display()
    );
    Ok(path)
}

fn folder() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(ASSETS_VARIABLE) {
        return Ok(PathBuf::from(given));
    }
    let script = repository().join("tests/control-plane/build.sh");
    let output = Command::new(&script)
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(
        output.status.success(),
        "{} failed: {}",
        script.display(),
        output.status
    );
    let text = String::from_utf8(output.stdout).context("the build script printed no UTF-8")?;
    let last = text.lines().last().context("the build script printed no folder")?;
    Ok(PathBuf::from(last))
}
