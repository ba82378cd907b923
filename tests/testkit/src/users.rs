//! Who may speak to a control plane, and the kubeconfig files with which they do.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// May do everything (group `system:masters`).
pub const ADMIN: &str = "admin";
/// The operator outside the cluster. Has no right but those that a test gives it, normally the chart's. Never in
/// `system:masters`: priority and fairness would treat it unlike production.
pub const OPERATOR: &str = "operator";
/// A second operator, for a test whose roles differ from those that `operator` has on the same control plane.
pub const OTHER_OPERATOR: &str = "other-operator";
/// An ordinary user, no rights.
pub const TENANT_A: &str = "tenant-a";
/// An ordinary user, no rights.
pub const TENANT_B: &str = "tenant-b";
/// The controller manager, scheduler and kwok, each under its own name so that the audit log tells them apart.
pub const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";
/// See [`CONTROLLER_MANAGER`].
pub const SCHEDULER: &str = "system:kube-scheduler";
/// See [`CONTROLLER_MANAGER`].
pub const KWOK: &str = "kwok";

const MASTERS: &[&str] = &[ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK];
const PLAIN: &[&str] = &[OPERATOR, OTHER_OPERATOR, TENANT_A, TENANT_B];

/// The users of one control plane and their tokens.
#[derive(Debug)]
pub struct Users {
    tokens: Vec<(&'static str, String)>,
}

impl Users {
    /// All users with new tokens.
    #[must_use]
    pub fn new() -> Self {
        let tokens = MASTERS.iter().chain(PLAIN).map(|user| (*user, token())).collect();
        Self { tokens }
    }

    /// The file that `--token-auth-file` wants: a line a user, `token,user,uid,"group"`.
    #[must_use]
    pub fn token_file(&self) -> String {
        let line = |(user, token): &(&str, String)| {
            let groups = if MASTERS.contains(user) {
                ",\"system:masters\""
            } else {
                ""
            };
            format!("{token},{user},{user}{groups}\n")
        };
        self.tokens.iter().map(line).collect()
    }

    /// The bearer token of a user.
    ///
    /// # Errors
    /// For a user that is not one of the constants of this module.
    pub fn token(&self, user: &str) -> Result<&str> {
        let found = self.tokens.iter().find(|(name, _)| *name == user);
        found
            .map(|(_, token)| token.as_str())
            .with_context(|| format!("the control plane has no user {user}"))
    }

    /// A kubeconfig file's text. `server` is a URL; with a plain HTTP one (the proxy) the authority is left out.
    ///
    /// # Errors
    /// As [`Users::token`], and when the authority's certificate cannot be read.
    pub fn kubeconfig(&self, user: &str, server: &str, ca: &Path) -> Result<String> {
        let cluster = if server.starts_with("https:") {
            // A path would do too, but then the file could not be copied elsewhere.
            let pem = std::fs::read(ca).with_context(|| format!("cannot read {}", ca.display()))?;
            // Kubernetes' own type of bytes encodes them as these files want it.
            serde_json::json!({ "server": server, "certificate-authority-data": ByteString(pem) })
        } else {
            serde_json::json!({ "server": server })
        };
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": user,
            "clusters": [{ "name": "testkit", "cluster": cluster }],
            "users": [{ "name": user, "user": { "token": self.token(user)? } }],
            "contexts": [{ "name": user, "context": { "cluster": "testkit", "user": user } }],
        });
        Ok(serde_json::to_string_pretty(&config)?)
    }
}

impl Default for Users {
    fn default() -> Self {
        Self::new()
    }
}

/// A client as the kubeconfig file says. It belongs to the async runtime that it was made in. Without the client's own
/// retries: a test wants to see the first answer.
///
/// # Errors
/// When the file cannot be read or used.
pub async fn client(kubeconfig: &PathBuf) -> Result<kube::Client> {
    // Fails when a provider is set already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

/// Keys of `RandomState` are random for each; the machine's other users shall not guess a token.
fn token() -> String {
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}
