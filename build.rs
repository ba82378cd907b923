//! Puts the commit into the binary, for `--version` and the metric `build_info`. A build without git, or from a tarball,
//! says `unknown`; `STREAMING_OPERATOR_COMMIT` overrides, for builds that know better (a container image).

use std::process::Command;

const VARIABLE: &str = "STREAMING_OPERATOR_COMMIT";

fn main() {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    println!("cargo:rerun-if-changed=build.rs");
    // HEAD changes with each commit and check-out; git knows where it is (a worktree's is elsewhere).
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={head}");
    }
    let given = std::env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    println!("cargo:rustc-env={VARIABLE}={}", commit.as_deref().unwrap_or("unknown"));
}

/// What git prints; nothing when there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
